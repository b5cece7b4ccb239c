import { mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createWorkspace } from './fixtures/workspace.ts';
import { configPaths } from './index.ts';

describe('configPaths', () => {
  it('follows XDG where its variables are absolute, and its defaults otherwise', () => {
    const { project, home } = createWorkspace();
    const plain = configPaths({ cwd: project, env: { XDG_CONFIG_HOME: 'relative', XDG_STATE_HOME: '' }, home });
    expect(plain).toMatchObject({
      root: project,
      mcpFile: join(project, '.mcp.json'),
      projectFile: join(project, '.parley', 'parley.jsonc'),
      userFile: join(home, '.config', 'parley', 'parley.jsonc'),
      stateDir: join(home, '.local', 'state', 'parley'),
      cacheDir: join(home, '.cache', 'parley'),
    });
    const env = { XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: '/s', XDG_CACHE_HOME: '/k' };
    expect(configPaths({ cwd: project, env, home })).toMatchObject({
      userFile: '/c/parley/parley.jsonc',
      stateDir: '/s/parley',
      cacheDir: '/k/parley',
    });
  });

  it.each([['.git'], ['.parley'], ['.mcp.json']])('finds the root by the nearest %s', (mark) => {
    const { project, home } = createWorkspace();
    const inner = join(project, 'packages', 'one');
    const cwd = join(inner, 'src', 'deep');
    mkdirSync(cwd, { recursive: true });
    expect(configPaths({ cwd, env: {}, home }).root).toBe(project);
    mkdirSync(join(inner, mark));
    expect(configPaths({ cwd, env: {}, home }).root).toBe(inner);
  });

  it('takes the working directory where nothing marks a root', () => {
    const { home } = createWorkspace();
    const cwd = join(home, 'nowhere');
    expect(configPaths({ cwd, env: {}, home }).root).toBe(cwd);
  });

  it('keeps local settings outside the project: one file a real directory', () => {
    const { directory, project, home, paths } = createWorkspace();
    const link = join(directory, 'link');
    symlinkSync(project, link);
    const other = join(directory, 'other', 'project');
    mkdirSync(join(other, '.git'), { recursive: true });
    const local = (cwd: string) => configPaths({ cwd, env: {}, home }).localFile;
    expect(dirname(paths.localFile)).toBe(join(home, '.config', 'parley', 'projects'));
    expect(paths.localFile).toMatch(/\/project-[0-9a-f]{16}\.jsonc$/);
    expect(local(link)).toBe(paths.localFile);
    expect(local(other)).not.toBe(paths.localFile);
  });
});

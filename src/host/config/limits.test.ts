import { describe, expect, it } from 'vitest';
import { createWorkspace } from './fixtures/workspace.ts';

const warnings = ({ diagnostics }: ReturnType<ReturnType<typeof createWorkspace>['load']>) =>
  diagnostics.map(({ level, path, message }) => `${level} ${path}: ${message}`);

describe('limits in configuration', () => {
  it('hold for all servers, or for one, as the user says, and the default where nobody says anything', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.userFile, {
      limits: { maxLineBytes: 1_000_000, maxPages: 20 },
      mcpServers: { one: { command: 'a', limits: { maxPages: 700 } }, other: { command: 'b' } },
    });
    workspace.write(workspace.paths.localFile, { limits: { maxPages: 30 }, servers: { other: { limits: { maxRounds: 64 } } } });
    const { config, diagnostics } = workspace.load();
    expect(diagnostics).toEqual([]);
    expect(config.limits).toEqual({ maxLineBytes: 1_000_000, maxPages: 30 });
    expect(config.servers.map(({ name, limits }) => [name, limits])).toEqual([
      ['one', { maxLineBytes: 1_000_000, maxPages: 700 }],
      ['other', { maxLineBytes: 1_000_000, maxPages: 30, maxRounds: 64 }],
    ]);
    expect(createWorkspace().load().config.limits).toBeUndefined();
  });

  it('may only be lowered by a project, for all servers and for its own', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.userFile, { limits: { maxPages: 20 } });
    workspace.write(workspace.paths.projectFile, {
      limits: { maxPages: 21, maxItems: 50_001, maxRounds: 2 },
      mcpServers: { x: { command: 'a', limits: { maxPages: 5, maxRounds: 3, maxLineBytes: 16_777_217 } } },
    });
    const loaded = workspace.load();
    expect(loaded.config.limits).toEqual({ maxPages: 20, maxRounds: 2 });
    expect(loaded.config.servers[0]?.limits).toEqual({ maxPages: 5, maxRounds: 2 });
    expect(warnings(loaded)).toEqual([
      'warning limits.maxPages: "limits.maxPages" is ignored: a project may only lower it, and it is 20.',
      'warning limits.maxItems: "limits.maxItems" is ignored: a project may only lower it, and it is 50000.',
      'warning mcpServers.x.limits.maxRounds: Server "x": "limits.maxRounds" is ignored: a project may only lower it, and it is 2.',
      'warning mcpServers.x.limits.maxLineBytes: Server "x": "limits.maxLineBytes" is ignored: a project may only lower it, and it is 16777216.',
    ]);
  });

  it('that make no sense are named; what is fixed and what there is none of has no effect', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.userFile, {
      limits: { maxPages: 1_000_000, maxItems: 'many', maxRounds: 0, maxEventId: 5, maxPage: 5 },
      mcpServers: { x: { command: 'a', limits: [] }, y: { command: 'a' } },
    });
    const loaded = workspace.load();
    expect(loaded.config.servers.map(({ name }) => name)).toEqual(['y']);
    expect(loaded.config.limits).toBeUndefined();
    expect(warnings(loaded).map((line) => line.replace(/Settings: /, ''))).toEqual([
      'error mcpServers.x.limits: Server "x": "limits" must be an object of names and numbers, not a list.',
      'error limits.maxPages: "limits.maxPages" must be a whole number from 1 to 10000, not 1000000.',
      'error limits.maxItems: "limits.maxItems" must be a whole number from 1 to 1000000, not a text.',
      'error limits.maxRounds: "limits.maxRounds" must be a whole number from 1 to 64, not 0.',
      'warning limits.maxEventId: "limits.maxEventId" is ignored: it is always 1024.',
      'warning limits.maxPage: there is no limit "maxPage", so it has no effect. Did you mean "maxPages"?',
    ]);
  });

  it('are no business of a file that other applications read', () => {
    const workspace = createWorkspace();
    workspace.write(workspace.paths.userFile, {});
    workspace.write(workspace.paths.mcpFile, { mcpServers: { x: { command: 'a', limits: { maxPages: 1 } } } });
    const loaded = workspace.load();
    expect(loaded.config.servers[0]?.limits).toBeUndefined();
    expect(warnings(loaded)[0]).toMatch(/"limits" is ignored: other applications read this file too/);
  });
});

// `parley policy …` and rules as a user meets them: real files, a real server, and the journal of calls that were made.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createCliHome, type CliHome, type RunOptions } from '../support/cli.ts';

const SERVER = join(import.meta.dirname, '../fixtures/stdio-server.mjs');

let cli: CliHome;
beforeEach(() => {
  cli = createCliHome();
});
afterEach(() => {
  expect(cli.processes()).toEqual([]);
  cli.remove();
});

const desk = () => ({ command: process.execPath, args: [SERVER, '--tools', 'read_it,risky'], env: cli.mark });

/** A Parley file with the server `desk`, which is trusted, and these rules. */
function configure(permissions: object, name = 'parley.jsonc'): string {
  return cli.write(name, { mcpServers: { desk: desk() }, servers: { desk: { trusted: true } }, permissions });
}

const parley = (...args: string[]) => cli.run(['--config', 'parley.jsonc', ...args]);

describe('policy check', () => {
  test('says that all is in order, and what looks like a slip of the pen', async () => {
    const file = configure({ allow: ['desk/*(text: under /srv) when route call'], deny: ['dsk/x'] });
    const ran = await parley('policy', 'check');
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout).toBe(
      `The deny rule "dsk/x" (permissions.deny.0 in ${file}) is about "dsk", which is not configured here. Did you mean "desk"?\n` +
        '2 rules, in order.\n',
    );
  });

  test('names every problem with file and key, and exits with 2', async () => {
    const file = configure({ allow: ['desk/*', 'desk/read_it(n: 5..1)'], ask: ['desk'], deny: ['desk/*(x: matches /a^/)'] });
    const ran = await parley('policy', 'check', '--json');
    expect(ran.code).toBe(2);
    const { ok, problems } = ran.json as { ok: boolean; problems: readonly string[] };
    expect(ok).toBe(false);
    expect(problems).toHaveLength(3);
    for (const key of ['permissions.allow.1', 'permissions.ask.0', 'permissions.deny.0']) {
      expect(problems.filter((problem) => problem.includes(`(${key} in ${file})`))).toHaveLength(1);
    }
  });

  test('of a file that cannot be read exits with 2, too', async () => {
    cli.write('parley.jsonc', '{ "permissions": {');
    const ran = await parley('policy', 'check');
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain('parley.jsonc:1:');
  });

  test.each<[string, string | object]>([
    ['half of a file', '{ "permissions": { "deny": ["desk/*"'],
    ['another name for the rules', { rules: { deny: ['desk/*'] } }],
    ['an unknown list', { permissions: { denied: ['desk/*'] } }],
    ['a rule that is no text', { permissions: { deny: [5] } }],
  ])('and every call tell of %s in the project, and nothing runs', async (_, content) => {
    cli.write('.mcp.json', { mcpServers: {} });
    cli.write('.parley/parley.jsonc', content);
    cli.write('user/parley/parley.jsonc', { mcpServers: { desk: desk() }, permissions: { allow: ['desk/*'] } });
    const options: RunOptions = { env: { XDG_CONFIG_HOME: join(cli.project, 'user') } };
    expect(await cli.run(['policy', 'check'], options)).toMatchObject({ code: 2 });
    const called = await cli.run(['call', 'desk/risky'], options);
    expect(called).toMatchObject({ code: 6, stdout: '' });
    expect(called.stderr).toContain('.parley/parley.jsonc');
    expect(called.stderr).toContain('The permission rules are broken');
  });
});

describe('a project', () => {
  test('may deny and ask, and what would allow is ignored, loudly', async () => {
    cli.write('user/parley/parley.jsonc', { mcpServers: { desk: desk() }, permissions: { allow: ['desk/read_it'] } });
    cli.write('.parley/parley.jsonc', {
      permissions: { allow: ['*/*'], repeatable: ['*/*'], deny: ['desk/read_it(text: secret*)'] },
      servers: { desk: { trusted: true, reviewedTools: ['risky'], private: false } },
    });
    const options: RunOptions = { env: { XDG_CONFIG_HOME: join(cli.project, 'user') } };
    const explain = async (...words: string[]) => {
      const ran = await cli.run(['policy', 'explain', '--json', ...words], options);
      expect(ran.stderr).toContain('The "allow" rules are ignored');
      expect(ran.stderr).toContain('The "repeatable" rules are ignored');
      expect(ran.stderr).toContain('a project cannot change a server that it does not define');
      return (ran.json as { verdict: string }).verdict;
    };
    expect(await explain('desk/read_it', 'text=lamp')).toBe('allow');
    expect(await explain('desk/read_it', 'text=secret')).toBe('deny');
    expect(await explain('desk/risky')).toBe('ask');
  });
});

describe('a call', () => {
  test('cannot name the file of --config, nor a store that stands elsewhere', async () => {
    const file = configure({ allow: ['desk/*'] });
    cli.write('parley.jsonc', { ...(JSON.parse(readFileSync(file, 'utf8')) as object), store: join(cli.project, 'mine.db') });
    for (const text of ['parley.jsonc', file, 'mine.db', `rm ${join(cli.project, 'mine.db-wal')}`]) {
      const called = await parley('call', 'desk/read_it', `text=${text}`);
      expect(called).toMatchObject({ code: 6, stdout: '' });
      expect(called.stderr).toContain("It names what is Parley's own");
    }
    expect(await parley('call', 'desk/read_it', 'text=other.jsonc')).toMatchObject({ code: 0 });
  });
});

describe('policy explain', () => {
  test('says the deciding rule and the others, as the call itself then goes', async () => {
    const file = configure({ allow: ['desk/*', 'desk/read_it'], deny: ['desk/read_it(text: matches /secret/)'] });
    const denied = await parley('policy', 'explain', 'desk/read_it', 'text=my secret');
    expect(denied).toMatchObject({ code: 0, stderr: '' });
    expect(denied.stdout.split('\n')).toEqual([
      `deny: The rule deny desk/read_it(text: matches /secret/) says so (permissions.deny.0 in ${file}).`,
      'Other rules that match:',
      `  allow desk/* (permissions.allow.0 in ${file})`,
      `  allow desk/read_it (permissions.allow.1 in ${file})`,
      '',
    ]);
    expect(await parley('call', 'desk/read_it', 'text=my secret')).toMatchObject({ code: 6 });
    expect(await parley('call', 'desk/read_it', 'text=lamp')).toMatchObject({ code: 0 });
  });

  test('takes what the run has read, the way and the one it is for into account', async () => {
    configure({ allow: ['desk/risky when route chat and principal ann'] });
    const verdict = async (...options: string[]) =>
      ((await parley('policy', 'explain', '--json', 'desk/risky', ...options)).json as { verdict: string }).verdict;
    expect(await verdict()).toBe('ask');
    expect(await verdict('--route', 'chat')).toBe('ask');
    expect(await verdict('--route', 'chat', '--principal', 'ann')).toBe('allow');
    expect(await verdict('--route', 'chat', '--principal', 'ann', '--tainted')).toBe('ask');
  });

  test('speaks of resources and prompts without asking the server', async () => {
    configure({ deny: ['desk/resource:*(uri: under /etc)', 'desk/prompt:x*'] });
    const verdict = async (target: string) =>
      ((await parley('policy', 'explain', '--json', target)).json as { verdict: string }).verdict;
    expect(await verdict('desk/resource:file:///etc/passwd')).toBe('deny');
    expect(await verdict('desk/resource:file:///srv/x')).toBe('allow');
    expect(await verdict('desk/prompt:xyz')).toBe('deny');
  });
});

describe('policy test', () => {
  test('shows which calls would be decided otherwise, and of which too little was kept', async () => {
    configure({ allow: ['desk/*'] });
    for (const text of ['lamp', 'secret', `sk-${'a'.repeat(40)}`]) {
      expect(await parley('call', 'desk/read_it', `text=${text}`)).toMatchObject({ code: 0 });
    }
    configure({ allow: ['desk/*'], deny: ['desk/read_it(text: secret)'] }, 'edited.jsonc');
    const ran = await parley('policy', 'test', '--policy', 'edited.jsonc', '--json');
    expect(ran.code).toBe(0);
    expect(ran.json).toMatchObject({
      calls: 3,
      changed: [{ tool: 'read_it', args: { text: 'secret' }, before: { verdict: 'allow' }, after: { verdict: 'deny' } }],
      unknown: [{ tool: 'read_it', unknown: ['/text'] }],
    });
    const told = await parley('policy', 'test', '--policy', 'edited.jsonc');
    expect(told.stdout).toContain('allow → deny  {"text":"secret"}');
    expect(told.stdout).toContain('3 calls, 1 decided otherwise.');
    expect(told.stdout).toContain('a rule looks at /text, of which a digest alone was kept.');
    expect(told.stdout).not.toContain('sk-a');
  });

  test('does not try what is broken', async () => {
    configure({});
    configure({ deny: ['desk'] }, 'edited.jsonc');
    const ran = await parley('policy', 'test', '--policy', 'edited.jsonc');
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain('permissions.deny.0 in');
    expect(await parley('policy', 'test', '--policy', 'nowhere.jsonc')).toMatchObject({ code: 2, stdout: '' });
  });
});

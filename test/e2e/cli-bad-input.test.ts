// What a user meets when something is wrong: with the files, the names, the arguments, the servers, or the moment they leave.
import { spawn } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { BIN, createCliHome, type Ran } from '../support/cli.ts';
import { freePort } from '../support/server-process.ts';

// A machine that has much else to do starts a process in seconds.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const user = createCliHome();
const FIXTURE = join(import.meta.dirname, 'fixtures/odd-server.mjs');
const odd = (way: string, more: object = {}) => ({ command: process.execPath, args: [FIXTURE, way], env: user.mark, ...more });

let web: Server;
let origin: string;

beforeAll(async () => {
  web = createServer((request, response) => {
    request.resume();
    if (request.url === '/hang') return;
    const status = { '/private': 401, '/missing': 404, '/busy': 429, '/failed': 502 }[request.url ?? ''] ?? 200;
    const json = { '/other': '{"hello":"world"}', '/nothing': '' }[request.url ?? ''];
    const type = json === undefined ? 'text/html' : 'application/json';
    response.writeHead(status, { 'content-type': type }).end(json ?? '<!doctype html><title>Hello</title>');
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
});

afterEach(() => {
  // Whatever a test did, no server outlives the command that started it.
  const left = user.processes();
  for (const pid of left) process.kill(pid, 'SIGKILL');
  expect(left).toEqual([]);
});

afterAll(async () => {
  web.closeAllConnections();
  await new Promise((resolve) => web.close(resolve));
  user.remove();
});

let files = 0;
/** Runs the command over these servers alone. */
function withServers(mcpServers: object, more: object = {}): (...args: string[]) => Promise<Ran> {
  const config = user.write(`config-${++files}.json`, { mcpServers, ...more });
  return (...args) => user.run(['--config', config, ...args]);
}

/** The one line of JSON on stderr. */
function errorOf({ stderr }: Ran): { readonly code: string; readonly message: string; readonly stderr?: string } {
  expect(stderr).toMatch(/^\{.*\}\n$/);
  return (JSON.parse(stderr) as { error: { code: string; message: string } }).error;
}

describe('a configuration file', () => {
  it('with wrong entries is used for the others, and each wrong one is named with its line', async () => {
    const config = user.write(
      'wrong.jsonc',
      [
        '{',
        '  // A comment, and a comma too many at the end.',
        '  "mcpServers": {',
        `    "good": ${JSON.stringify(odd('plain'))},`,
        '    "misspelt": { "comand": "x" },',
        '    "both": { "command": "x", "url": "http://x" },',
        '    "number": { "command": 7 },',
        '    "scheme": { "url": "ftp://x" },',
        '    "two__parts": { "command": "x" },',
        '    "unset": { "command": "x", "env": { "KEY": "${PARLEY_NEVER_SET}" } },',
        '  },',
        '}',
      ].join('\n'),
    );
    const { code, stdout, stderr } = await user.run(['--config', config, 'tools', 'list']);
    expect(code).toBe(0);
    expect(stdout).toBe('good/echo  The tool echo.\ngood/slow  The tool slow.\n');
    const at = (line: number) => stderr.split('\n').find((each) => each.includes(`${config}:${line}:`));
    expect(at(5)).toMatch(/Server "misspelt": it needs "command" \(a program\) or "url"/);
    expect(at(6)).toMatch(/Server "both": it has both "command" and "url"/);
    expect(at(7)).toMatch(/Server "number": "command" must be a text, not this number/);
    expect(at(8)).toMatch(/Server "scheme": "url" must be a whole URL/);
    expect(at(9)).toMatch(/The name "two__parts" cannot be used.*Call it "two_parts"/);
    expect(at(10)).toMatch(/Server "unset": the variable "PARLEY_NEVER_SET" is not set/);
    expect(stderr).toMatch(/Server "misspelt": the key "\w+" is not known and has no effect. Did you mean "command"\?/);
    expect(stderr.trimEnd().split('\n')).toHaveLength(7);
    // They are errors: --quiet keeps them, and in JSON each is a line of it.
    const quiet = await user.run(['--config', config, '-q', '--json', 'tools', 'list', 'good']);
    expect(quiet.code).toBe(0);
    expect(quiet.json).toMatchObject({ tools: [{ name: 'echo' }, { name: 'slow' }] });
    const lines = quiet.stderr.trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { error: { code: string } }).error.code)).toEqual(
      Array<string>(6).fill('config-invalid'),
    );
  });

  it.each([
    ['is no JSON', '{ "mcpServers": {\n "a": ', /:2:\d+ The file is not used/],
    ['is no object', '[]', /must hold an object, not a list/],
    ['is not there', undefined, /There is no such file/],
  ])('that %s and was asked for by name ends the command', async (_what, text, message) => {
    const config = text === undefined ? join(user.project, 'nowhere.json') : user.write('broken.json', text);
    const ran = await user.run(['--config', config, '--json', 'tools', 'list']);
    expect(ran).toMatchObject({ code: 1, stdout: '' });
    expect(errorOf(ran)).toMatchObject({ code: 'config-invalid', message: expect.stringContaining(config) as string });
    expect(errorOf(ran).message).toMatch(message);
  });

  it('of a project that is broken leaves the user their own servers', async () => {
    const file = user.write('.mcp.json', '{ "mcpServers": {');
    const xdg = join(user.home, 'xdg');
    user.write('../home/xdg/parley/parley.jsonc', { mcpServers: { mine: odd('plain') } });
    const { code, stdout, stderr } = await user.run(['tools', 'list'], { env: { XDG_CONFIG_HOME: xdg } });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'mine/echo  The tool echo.\nmine/slow  The tool slow.\n' });
    expect(stderr).toMatch(new RegExp(`^parley: ${file}:1:\\d+ The file is not used: .*\n$`));
    user.write('.mcp.json', '{}');
  });
});

describe('names and arguments', () => {
  it('that are not known are answered with those that are near', async () => {
    const parley = withServers({ alpha: odd('plain') });
    const ask = async (...args: string[]) => {
      const ran = await parley('--json', '--allow', 'alpha/*', ...args);
      expect(ran.stdout).toBe('');
      return { exit: ran.code, ...errorOf(ran) };
    };
    const answers = await Promise.all([
      ask('tools', 'list', 'alpah'),
      ask('mcp', 'get', 'alpah'),
      ask('call', 'alpha/ehco'),
      ask('call', 'alpah/echo'),
      ask('tools', 'show', 'ehco'),
      ask('prompts', 'get', 'alpha/nothing'),
      ask('resources', 'read', 'memo://nothing'),
    ]);
    const unknown = (message: string) => ({ exit: 2, code: 'not-found', message });
    expect(answers).toEqual([
      unknown('There is no server "alpah". Did you mean "alpha"?'),
      unknown('There is no server "alpah". Did you mean "alpha"?'),
      unknown('There is no tool "alpha/ehco". Did you mean "alpha/echo"?'),
      unknown('There is no tool "alpah/echo". Did you mean "echo"?'),
      unknown('There is no tool "ehco". Did you mean "echo"?'),
      unknown('There is no prompt "alpha/nothing".'),
      unknown('There is no resource "memo://nothing".'),
    ]);
  });

  it('that do not fit are refused before anything is sent', async () => {
    const parley = withServers({ s: odd('plain') });
    const [type, name, word] = await Promise.all(
      ['text:=7', 'txet=x', 'text'].map((argument) => parley('--json', '--allow', 's/*', 'call', 's/echo', argument)),
    );
    for (const ran of [type, name, word]) expect(ran).toMatchObject({ code: 1, stdout: '' });
    expect(errorOf(type as Ran)).toMatchObject({ code: 'invalid-arguments' });
    expect(errorOf(type as Ran).message).toMatch(/do not fit s\/echo: \/text must be string\. Nothing was sent/);
    expect(errorOf(name as Ran).message).toBe('The tool has no argument "txet". Did you mean "text"? It takes "text".');
    expect(errorOf(word as Ran).message).toMatch(/"text" is no argument. Write key=value/);
    expect(logOf('s')).not.toMatch(/called/);
  });

  it('of commands are checked too, and said in the form that was asked for', async () => {
    const run = async (...args: string[]) => {
      const ran = await user.run(args);
      expect({ code: ran.code, stdout: ran.stdout }, args.join(' ')).toEqual({ code: 1, stdout: '' });
      return ran;
    };
    expect(errorOf(await run('--json', 'frobnicate'))).toEqual({ code: 'usage', message: "Unknown command 'frobnicate'." });
    expect(errorOf(await run('mcp', '--json', 'lst'))).toMatchObject({
      code: 'usage',
      message: expect.stringContaining('Did you mean list?') as string,
    });
    expect(errorOf(await run('-o', 'ndjson', 'call'))).toMatchObject({ code: 'usage' });
    expect((await run('call')).stderr).toBe("parley: Missing required argument 'tool'.\n");
    // What an option takes is no command.
    expect((await run('--allow', 'mcp', '-o', 'raw', 'call')).stderr).toBe("parley: Missing required argument 'tool'.\n");
    expect((await run('-o', 'yaml', 'tools')).stderr).toMatch(/^parley: There is no output form "yaml"/);
    expect(errorOf(await run('--json', '--allow', '((', 'tools'))).toMatchObject({ code: 'config-invalid' });
    expect((await run()).stderr).toMatch(/^Usage: parley/);
  });
});

/** What the server called `name` wrote to its standard error. */
function logOf(name: string): string {
  try {
    return readFileSync(join(user.home, `.local/state/parley/logs/${name}.log`), 'utf8');
  } catch {
    return '';
  }
}

describe('a server that cannot be used', () => {
  /** What every command that needs it says: the same error, and the same exit code. */
  async function failures(
    entry: object,
  ): Promise<{ readonly exit: number | null; readonly code: string; readonly message: string }> {
    const parley = withServers({ s: entry }, { permissions: { allow: ['s/*'] } });
    const commands = [
      ['tools', 'list'],
      ['call', 's/echo', 'text=x'],
    ];
    const [listed, ...others] = await Promise.all(commands.map((args) => parley('--json', ...args)));
    if (listed === undefined) throw new Error('Nothing ran.');
    const { code, message } = errorOf(listed);
    for (const ran of [listed, ...others]) {
      expect(ran).toMatchObject({ code: listed.code, stdout: '' });
      expect(errorOf(ran)).toMatchObject({ code });
    }
    return { exit: listed.code, code, message };
  }

  it('because nobody listens there', async () => {
    const url = `http://127.0.0.1:${await freePort()}/mcp`;
    expect(await failures({ url })).toEqual({
      exit: 4,
      code: 'unreachable',
      message: `Server "s": ${url} refused the connection. Check the URL and that the server runs.`,
    });
  });

  it('because the command does not exist', async () => {
    expect(await failures({ command: 'parley-no-such-command' })).toEqual({
      exit: 4,
      code: 'unreachable',
      message:
        'Server "s": The command "parley-no-such-command" cannot be started: it was not found. Install it, or give its full path.',
    });
  });

  it('because the URL is that of a web page', async () => {
    const page = await failures({ url: `${origin}/page` });
    expect(page).toMatchObject({ exit: 4, code: 'not-mcp' });
    expect(page.message).toMatch(/\/page answered with a content type that is not MCP's. Check that the URL is an MCP endpoint/);
    const missing = await failures({ url: `${origin}/missing` });
    expect(missing).toMatchObject({ exit: 4, code: 'http-status', message: expect.stringContaining('HTTP 404') as string });
    expect(missing.message).not.toMatch(/Hello/);
  });

  it('because it wants sign-in', async () => {
    const failed = await failures({ url: `${origin}/private` });
    const message = 'Server "s": sign-in needed: run `parley mcp login s`.';
    expect(failed).toEqual({ exit: 3, code: 'auth-required', message });
  });

  it('because it prints and prints, and no word of it is MCP', async () => {
    const failed = await failures(odd('chatter'));
    expect(failed).toMatchObject({ exit: 4, code: 'not-mcp' });
    expect(failed.message).toMatch(/wrote 100 lines that are not MCP: the server prints to stdout/);
  });

  it('because it prints a line and then waits, or ends', async () => {
    const [waits, ends] = await Promise.all([failures(odd('greet', { connectTimeoutMs: 4_000 })), failures(odd('farewell'))]);
    expect(waits).toMatchObject({ exit: 4, code: 'timeout' });
    expect(waits.message).toMatch(/gave no answer .* within 4 s\. What it wrote, 1 line, is not MCP/);
    expect(ends).toMatchObject({ exit: 4, code: 'server-stopped' });
    expect(ends.message).toMatch(/ended with exit code 0, after 1 line on its standard output that is not MCP/);
  });

  it('because the two have no revision in common, and both sides’ are listed', async () => {
    const failed = await failures(odd('alien'));
    expect(failed).toMatchObject({ exit: 4, code: 'version-unsupported' });
    expect(failed.message).toMatch(/the server offers 1999-12-31; Parley speaks 2026-07-28, 2025-11-25, .*2024-11-05/);
  });

  it('because it answers the greeting with an error', async () => {
    const error = { jsonrpc: '2.0', id: null, error: { code: -32603, message: 'no database' } };
    const refuse = `process.stdin.on('data', () => console.log(${JSON.stringify(JSON.stringify(error))}))`;
    expect(await failures({ command: process.execPath, args: ['-e', refuse] })).toEqual({
      exit: 4,
      code: 'unreachable',
      message:
        'Server "s": It answered the greeting with error -32603, "no database". Check that it is an MCP server, and what its own log says.',
    });
  });

  it('because it is overloaded, or what it is behind has failed', async () => {
    const [busy, failed] = await Promise.all([failures({ url: `${origin}/busy` }), failures({ url: `${origin}/failed` })]);
    expect(busy).toMatchObject({ exit: 4, code: 'http-status', message: expect.stringContaining('try again later') as string });
    expect(failed).toMatchObject({ exit: 4, code: 'http-status', message: expect.stringContaining('its own log') as string });
  });

  it('because it answers with JSON that is no MCP, or with nothing', async () => {
    const [other, nothing] = await Promise.all([failures({ url: `${origin}/other` }), failures({ url: `${origin}/nothing` })]);
    for (const failed of [other, nothing]) {
      expect(failed).toMatchObject({ exit: 4, code: 'protocol-violation' });
      expect(failed.message).toMatch(/^Server "s": .* Check that it is an MCP server\.$/);
    }
  });

  it('because its program is not where it should be, which its last words say', async () => {
    const parley = withServers({ s: { command: process.execPath, args: ['no-such-server.js'] } });
    const { code, stderr } = await parley('tools', 'list');
    expect(code).toBe(4);
    expect(stderr).toMatch(/ended with exit code 1\. Its standard error may say why\.\n/);
    expect(stderr).toMatch(/^│ Error: Cannot find module '.*no-such-server\.js'$/m);
    const silent = withServers({ s: { command: process.execPath, args: ['-e', '0'] } });
    expect((await silent('tools', 'list')).stderr).toMatch(
      /ended with exit code 0\. It wrote nothing to its standard error\.\n$/,
    );
  });

  it('because it ended with a complaint, which is shown', async () => {
    const parley = withServers({
      s: { command: process.execPath, args: ['-e', 'console.error("no API key"); process.exit(3)'] },
    });
    const [text, json] = await Promise.all([parley('tools', 'list'), parley('--json', 'tools', 'list')]);
    expect(text.stderr).toMatch(/^parley: Server "s": .* ended with exit code 3\..*\n│ no API key\n$/);
    expect(errorOf(json)).toMatchObject({ code: 'server-stopped', stderr: 'no API key' });
  });

  it('keeps nobody from using the others, and is named', async () => {
    const parley = withServers({ good: odd('plain'), gone: { command: 'parley-no-such-command' } });
    const { code, stdout, stderr } = await parley('tools', 'list');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'good/echo  The tool echo.\ngood/slow  The tool slow.\n' });
    expect(stderr).toBe(
      '1/2 servers connected\n  gone: The command "parley-no-such-command" cannot be started: it was not found. Install it, or give its full path.\n',
    );
    expect((await parley('-q', 'tools', 'list')).stderr).toBe('');
    const both = withServers({ gone: { command: 'parley-no-such-command' }, page: { url: `${origin}/page` } });
    const failed = await both('-q', 'tools', 'list');
    expect(failed).toMatchObject({ code: 4, stdout: '' });
    expect(failed.stderr).toMatch(
      /^parley: None of 2 servers could be reached:\n {2}gone: .*not found.*\n {2}page: .*content type/,
    );
  });
});

describe('a server that is odd but well', () => {
  it('may print a banner before it speaks', async () => {
    const parley = withServers({ s: odd('banner') }, { permissions: { allow: ['s/*'] } });
    const ran = await parley('--json', 'call', 's/echo', 'text=hello');
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json).toMatchObject({ content: [{ text: 'hello' }] });
  });

  it('may have no tools', async () => {
    const parley = withServers({ s: odd('bare') });
    const [text, json, none] = await Promise.all([
      parley('tools', 'list'),
      parley('--json', 'tools', 'list'),
      withServers({})('tools', 'list'),
    ]);
    for (const ran of [text, none]) expect(ran).toMatchObject({ code: 0, stdout: 'No tools.\n', stderr: '' });
    expect(json.json).toEqual({ tools: [], conflicts: [] });
  });
});

describe('output', () => {
  it('has no colours and no escape sequences, whatever the environment asks for', async () => {
    const config = user.write('colours.json', { mcpServers: { s: odd('plain'), gone: { command: 'parley-no-such-command' } } });
    for (const env of [{ NO_COLOR: '1' }, { FORCE_COLOR: '1' }]) {
      const ran = await user.run(['--config', config, 'mcp', 'list'], { env });
      expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('1/2 connected') as string });
      // eslint-disable-next-line no-control-regex -- that is what is looked for
      expect(ran.stdout + ran.stderr).not.toMatch(/\u001b/);
    }
  });

  it('reaches a reader who takes it late as a whole', async () => {
    const config = user.write('late.json', { mcpServers: { s: odd('plain') }, permissions: { allow: ['s/*'] } });
    // More than a pipe holds, so that the command is done before all of it is read.
    const text = 'x'.repeat(500_000);
    const late = ['/bin/sh', '-c', '"$0" "$@" | { sleep 1; cat; }'];
    const ran = await user.run(['--config', config, '-o', 'raw', 'call', 's/echo', '-'], {
      stdin: JSON.stringify({ text }),
      behind: late,
    });
    expect(ran.stdout).toBe(`${text}\n`);
  });

  it('may be left by its reader: no error, no trace, no server that stays', async () => {
    const config = user.write('pipe.json', { mcpServers: { s: odd('plain') }, permissions: { allow: ['s/*'] } });
    // More than a pipe holds, so that the command writes to a reader that is gone.
    const text = 'x'.repeat(500_000);
    const child = spawn(
      '/bin/sh',
      [
        '-c',
        '("$0" "$1" --config "$2" -o raw call s/echo - 2>"$3"; echo $? >"$4") | head -c 10',
        process.execPath,
        BIN,
        config,
        'err',
        'code',
      ],
      {
        cwd: user.project,
        env: { PATH: process.env['PATH'] ?? '', HOME: user.home, ...user.mark },
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    );
    child.stdin.end(JSON.stringify({ text }));
    let out = '';
    child.stdout.on('data', (chunk) => (out += String(chunk)));
    await new Promise((resolve) => child.once('close', resolve));
    expect(out).toBe('x'.repeat(10));
    const read = (name: string) => readFileSync(join(user.project, name), 'utf8');
    expect({ err: read('err'), code: read('code') }).toEqual({ err: '', code: '0\n' });
  });
});

describe('Ctrl-C', () => {
  const STARTED = join(user.project, 'started');
  const started = () => expect.poll(() => readFileSync(STARTED, 'utf8')).not.toBe('');

  it.each([
    ['connects to a server that says nothing', 'hang', ['tools', 'list', 's']],
    ['waits for one of two servers', 'hang', ['mcp', 'list']],
    ['connects to a server that only a kill ends', 'stubborn', ['call', 's/echo']],
    ['makes a call', 'plain', ['-o', 'ndjson', '--allow', 's/*', 'call', 's/slow']],
  ])('while the command %s ends it and all it started', async (_what, way, args) => {
    const config = user.write('stop.json', {
      mcpServers: { s: odd(way, { env: { ...user.mark, STARTED } }), ...(args.includes('mcp') && { other: odd('plain') }) },
    });
    user.write('started', '');
    const running = user.start(['--config', config, ...args]);
    await started();
    if (way === 'plain') await running.said('"progress":1');
    running.kill('SIGINT');
    const { code, signal, stderr } = await running.ended;
    expect({ code, signal }).toEqual({ code: 130, signal: null });
    expect(stderr).toMatch(/Interrupted\.|Cancelled\./);
    expect(user.processes()).toEqual([]);
  });

  it('again and again ends it at once, and still leaves nothing', async () => {
    const config = user.write('stop.json', { mcpServers: { s: odd('stubborn', { env: { ...user.mark, STARTED } }) } });
    user.write('started', '');
    const running = user.start(['--config', config, 'tools', 'list']);
    await started();
    const impatience = setInterval(() => running.kill('SIGINT'), 20);
    const { code, stderr } = await running.ended;
    clearInterval(impatience);
    // It did not come to say that it was interrupted, as it does once its servers have ended in good order.
    expect({ code, stderr }).toEqual({ code: 130, stderr: '' });
    expect(user.processes()).toEqual([]);
  });

  it('while it waits for an answer over HTTP ends it', async () => {
    const asked = new Promise<void>((resolve) => web.once('request', () => resolve()));
    const config = user.write('stop.json', { mcpServers: { s: { url: `${origin}/hang` } } });
    const running = user.start(['--config', config, 'tools', 'list']);
    await asked;
    running.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 130, stdout: '' });
  });
});

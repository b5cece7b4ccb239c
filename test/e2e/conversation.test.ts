// `parley run` and `parley chat` as a user meets them: real servers in processes of their own, a script or a real socket as the model.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createCliHome, type CliHome } from '../support/cli.ts';

const SERVER = join(import.meta.dirname, '../fixtures/stdio-server.mjs');
const KEY = 'sk-never-to-be-seen';

let cli: CliHome;
beforeEach(() => {
  cli = createCliHome();
  configure({ desk: ['--tools', 'read_it,risky,slow'] });
});

/** Servers by their flags; `desk` is trusted. */
function configure(servers: Record<string, readonly string[]>): void {
  const launch = (args: readonly string[]) => ({ command: process.execPath, args: [SERVER, ...args], env: cli.mark });
  const mcpServers = Object.fromEntries(Object.entries(servers).map(([name, args]) => [name, launch(args)]));
  cli.write('parley.jsonc', { mcpServers, ...('desk' in servers && { servers: { desk: { trusted: true } } }) });
}
afterEach(() => {
  expect(cli.processes()).toEqual([]);
  cli.remove();
});

const script = (...steps: object[]) => `scripted:${cli.write('script.json', steps)}`;
const run = (model: string, ...args: string[]) => cli.run(['--config', 'parley.jsonc', 'run', '--model', model, ...args]);

describe('parley run', () => {
  test('says what is there and what is done on stderr, and the answer alone on stdout', async () => {
    const model = script(
      {
        say: 'I look.',
        call: [
          { tool: 'desk/read_it', arguments: { text: 'lamp' } },
          { tool: 'desk/risky', arguments: {} },
          { tool: 'desk/red_it', arguments: {} },
        ],
      },
      { say: 'That is all.\u001b[31m' },
    );
    const ran = await run(model, 'Please', 'look.');
    expect(ran).toMatchObject({ code: 0, stdout: 'That is all.\\u{1b}[31m\n' });
    const told = [
      '1/1 servers connected\n  desk: connected, 2025-06-18, 3 tools\n',
      'Tools\n  desk: read_it, risky, slow\n',
      'Model: scripted model (no LLM is used)\n',
      '> Please look.\n',
      'I look.\n',
      '→ desk/read_it {"text":"lamp"}\n',
      '→ desk/risky {}\n',
      '\n#  tool          outcome  time',
      '\n1  desk/read_it  ok ',
      '\n2  desk/risky    denied ',
      '\n3  desk/red_it   unknown ',
    ];
    const at = told.map((text) => ran.stderr.indexOf(text));
    expect(at, ran.stderr).not.toContain(-1);
    expect(at).toEqual([...at].sort((a, b) => a - b));
    expect(ran.stderr).toMatch(
      /\n← desk\/read_it: ok, [\d.]+ m?s \(allowed: The server is trusted .*\)\n│ \{"name":"read_it","args":\{"text":"lamp"\}/,
    );
    expect(ran.stderr).toMatch(/\n← desk\/risky: Declined: .* \(denied: The server is trusted, and does not say/);
    expect(ran.stderr).toContain(
      '\n← desk/red_it: There is no tool "desk/red_it". Did you mean "desk__read_it"? Nothing was called.\n',
    );
  });

  test('goes on without a server that does not start, and says why', async () => {
    configure({ gone: ['--exit', 'no such disk'] });
    const ran = await run(script({ say: 'Done.' }), 'Go.');
    expect(ran).toMatchObject({ code: 0, stdout: 'Done.\n' });
    expect(ran.stderr).toMatch(/^0\/1 servers connected\n {2}gone: .*\n│ no such disk\nNo tools\.\n/);
  });

  test('gives one JSON value with --json', async () => {
    const model = script({ call: [{ tool: 'read_it', arguments: { text: 'x' } }] }, { say: 'Done.' });
    const ran = await cli.run(['--config', 'parley.jsonc', '--json', 'run', '-p', 'Go.', '--model', model]);
    expect(ran.code).toBe(0);
    expect(ran.json).toMatchObject({
      text: 'Done.',
      stopped: 'done',
      turns: 2,
      calls: [{ n: 1, turn: 1, tool: 'desk/read_it', arguments: { text: 'x' }, outcome: 'ok', summary: 'Done.' }],
      usage: { inputTokens: 0, outputTokens: 0 },
    });
  });

  test('ends with 1 and a sentence at its limit of turns', async () => {
    const ran = await run(script({ call: [{ tool: 'desk/read_it' }] }), 'Go.', '--max-turns', '1');
    expect(ran).toMatchObject({ code: 1, stdout: 'Stopped after 1 turns.\n' });
  });

  test('reads the prompt from standard input for -, and is parley -p as well', async () => {
    const args = ['-p', '-', '--config', 'parley.jsonc', '--model', script({ say: 'Done.' })];
    const ran = await cli.run(args, { stdin: 'From\nelsewhere.\n' });
    expect(ran).toMatchObject({ code: 0, stdout: 'Done.\n' });
    expect(ran.stderr).toContain('> From\nelsewhere.\n');
  });

  test('without a model names the ways to name one', async () => {
    const ran = await cli.run(['--config', 'parley.jsonc', 'run', 'Go.']);
    expect(ran).toMatchObject({ code: 1, stdout: '' });
    expect(ran.stderr).toContain('Give one with --model or in PARLEY_MODEL: openai:MODEL');
  });

  test('without a prompt says how to give one', async () => {
    const ran = await run(script({ say: 'Done.' }));
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain('There is no prompt.');
  });

  test('interrupted in the middle of a call ends with 130, says what was called and leaves nothing running', async () => {
    const args = [
      '--config',
      'parley.jsonc',
      '--allow',
      'desk/slow',
      'run',
      '--model',
      script({ call: [{ tool: 'desk/slow' }] }),
      'Go.',
    ];
    const running = cli.start(args);
    await running.said('→ desk/slow {}');
    running.kill('SIGINT');
    const ran = await running.ended;
    expect(ran).toMatchObject({ code: 130, stdout: '' });
    expect(ran.stderr).toMatch(/\nInterrupted\.\n\n#.*\n1 {2}desk\/slow {2}cancelled/);
  });
});

/** A chat-completions server that answers with the number of messages it was sent, or refuses with 401. */
async function openModel(status: 200 | 401) {
  const asked: { readonly messages: readonly { readonly role: string; readonly content: string }[] }[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      asked.push(JSON.parse(body) as (typeof asked)[number]);
      if (status === 401)
        return response.writeHead(401).end(JSON.stringify({ error: { message: `Wrong key\u001b[31m ${KEY}` } }));
      const choice = { index: 0, delta: { role: 'assistant', content: `Answer ${asked.length}.` }, finish_reason: 'stop' };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: ${JSON.stringify({ id: 'c', choices: [choice] })}\n\ndata: [DONE]\n\n`);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    asked,
    spec: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1#some-model`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

test('a model that refuses the key is a fault with its code, whose own words stand behind the gutter and hold no key', async () => {
  await using model = await openModel(401);
  const ran = await cli.run(['--config', 'parley.jsonc', 'run', '--model', model.spec, 'Go.'], { env: { PARLEY_API_KEY: KEY } });
  expect(ran).toMatchObject({ code: 3, stdout: '' });
  expect(ran.stderr).toContain('│ Wrong key\\u{1b}[31m [key]\n');
  expect(ran.stderr).toMatch(/\nparley: 127\.0\.0\.1:\d+ did not take the key \(HTTP 401\)\. Check PARLEY_API_KEY\.\n$/);
  expect(ran.stderr).not.toContain(KEY);
});

describe('parley chat', () => {
  const chat = (model: string, stdin: string) => cli.run(['--config', 'parley.jsonc', 'chat', '--model', model], { stdin });

  test('answers line by line, and keeps what was said', async () => {
    await using model = await openModel(200);
    const ran = await chat(model.spec, 'First.\n\n  Second.  \n');
    expect(ran).toMatchObject({ code: 0, stdout: 'Answer 1.\nAnswer 2.\n' });
    expect(model.asked.map(({ messages }) => messages.slice(1).map(({ role, content }) => `${role}: ${content}`))).toEqual([
      ['user: First.'],
      ['user: First.', 'assistant: Answer 1.', 'user: Second.'],
    ]);
    expect(model.asked[0]?.messages[0]?.role).toBe('system');
  });

  test('has commands, and ends at /quit', async () => {
    const ran = await chat(script({ say: 'Never.' }), '/tools\n/servers\n/help\n/nonsense\n/quit\nmore\n');
    expect(ran).toMatchObject({ code: 0, stdout: '' });
    const told = [
      'Write a message, or /help.',
      'desk: read_it, risky, slow',
      '1/1 servers connected',
      '/quit ',
      'There is no /nonsense.',
    ];
    let rest = ran.stderr;
    for (const text of told) {
      expect(rest).toContain(text);
      rest = rest.slice(rest.indexOf(text) + text.length);
    }
  });

  test('goes on after a fault of the model, and ends with its exit code when nothing better came', async () => {
    await using model = await openModel(401);
    const ran = await chat(model.spec, 'First.\nSecond.\n');
    expect(ran).toMatchObject({ code: 3, stdout: '' });
    expect(model.asked).toHaveLength(2);
  });
});

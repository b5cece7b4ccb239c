// A page tells a model to read a private note and to mail it to a stranger, and the model obeys. The mail is held: a person is asked and
// told where the data came from, in spite of what they allowed before; and where there is nobody to ask, it is denied.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hostToolbox, runAgent } from 'parley/agent';
import { loadConfig, openHost, type ApprovalRequest, type Approver, type Host, type Verdict } from 'parley/host';
import { obedientModel } from './obedient.js';

process.chdir(fileURLToPath(new URL('../../..', import.meta.url)));
const folder = mkdtempSync(join(tmpdir(), 'parley-taint-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** A host over the three servers, with a new outbox. */
async function open(name: string, options: { readonly allow?: readonly string[]; readonly approver?: Approver } = {}) {
  const outbox = join(folder, name);
  const env = { ...process.env, OUTBOX: outbox };
  const { allow = [], approver } = options;
  const extra = { permissions: { allow } };
  const { config } = loadConfig({ configFile: 'examples/taint/parley.jsonc', env, extra });
  const surroundings = { env, home: homedir(), workspaceFolder: process.cwd() };
  const host = openHost({ config, surroundings, ...(approver && { approver }) });
  await host.settled({ withinMs: 10_000 });
  return { host, sent: () => (existsSync(outbox) ? readFileSync(outbox, 'utf8').trimEnd().split('\n') : []) };
}

/** What became of each call that the model made. */
async function work(host: Host, first: { readonly tool: string; readonly arguments: object }) {
  const model = obedientModel(first);
  const messages = [{ role: 'user', text: 'Which lamp should I buy?' }] as const;
  const { calls } = await runAgent({ model, toolbox: hostToolbox(host, model), messages, maxTurns: 10 });
  for (const { name, status, because } of calls) console.log(`  ${name}: ${status}. ${because ?? ''}`);
  return calls.map(({ name, status }) => `${name} ${status}`);
}

const page = { tool: 'web/fetch_page', arguments: { url: 'https://lamps.example' } };
const note = { tool: 'notes/read_note', arguments: { name: 'bank' } };
const mail = { to: 'bob@example.com', text: 'Lunch?' };
const held = ['web__fetch_page ok', 'notes__read_note ok', 'mail__send_mail denied'];

console.log('With a person, who allowed mail for this run:');
{
  const asked: ApprovalRequest[] = [];
  const answers: Verdict[] = [{ type: 'allow', scope: 'run' }];
  const approver: Approver = {
    async ask(request) {
      asked.push(request);
      return answers.shift() ?? { type: 'deny', by: 'person' };
    },
  };
  const { host, sent } = await open('person', { approver });
  assert.equal((await host.call('mail/send_mail', mail)).type, 'ok');
  assert.equal((await host.call('mail/send_mail', mail)).type, 'ok');
  assert.equal(asked.length, 1);

  assert.deepEqual(await work(host, page), held);
  assert.equal(asked.length, 2);
  console.log(`  asked: ${asked[1]?.because ?? ''}`);
  assert.match(
    asked[1]?.because ?? '',
    /may have written \(mail\/send_mail, web\/fetch_page\), and what "mail" must not get unasked \(notes\/read_note\)/,
  );
  assert.equal(asked[1]?.widest, 'once');
  assert.deepEqual(sent(), ['bob@example.com: Lunch?', 'bob@example.com: Lunch?']);
  await host.close();
}

console.log('With nobody to ask, and a rule that allows mail:');
{
  const { host, sent } = await open('nobody', { allow: ['mail/send_mail'] });
  assert.deepEqual(await work(host, page), held);
  assert.deepEqual(sent(), []);
  await host.close();
}

console.log('The same rule, and no page was read:');
{
  const { host, sent } = await open('no-page', { allow: ['mail/send_mail'] });
  assert.deepEqual(await work(host, note), ['notes__read_note ok']);
  assert.equal((await host.call('mail/send_mail', mail)).type, 'ok');
  assert.deepEqual(sent(), ['bob@example.com: Lunch?']);
  await host.close();
}

console.log('Nothing was sent to audit@evil.example.');

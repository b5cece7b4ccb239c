// The support desk: a model answers a customer with the tools of three servers, and each risky call waits for a person.
// It starts the tickets server, then runs the command line as anybody would.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createInterface } from 'node:readline';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const here = 'examples/support-desk';

const tickets = spawn(process.execPath, [`dist/${here}/tickets.js`], { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] });
// Whether it ends early or late: an event that is waited for afterwards may be over.
const ticketsEnded = once(tickets, 'exit');
const firstLine = once(createInterface(tickets.stdout), 'line') as Promise<[string]>;
const [url] = await Promise.race([
  firstLine,
  ticketsEnded.then(() => Promise.reject(new Error('The tickets server did not start.'))),
]);

const args = [
  'run',
  '--config',
  `${here}/parley.jsonc`,
  '--model',
  `scripted:${here}/conversation.json`,
  'Please answer ticket T-7.',
];
console.log(`$ TICKETS_URL=${url} parley ${args.map((arg) => (arg.includes(' ') ? `"${arg}"` : arg)).join(' ')}\n`);

const parley = spawn(process.execPath, ['dist/cli/bin.js', ...args], {
  cwd: root,
  env: { ...process.env, TICKETS_URL: url },
  stdio: 'inherit',
});
// A key press such as Ctrl-C reaches the whole group: parley ends by itself and this waits for it.
process.on('SIGINT', () => {});
const [code] = (await once(parley, 'exit')) as [number | null];
tickets.stdin.end();
await ticketsEnded;
process.exitCode = code ?? 130;

// Runs every built example with nothing on standard input and fails when one does not end well by itself.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';

const TIME_MS = 120_000;

const names = existsSync('examples') ? readdirSync('examples').filter((name) => existsSync(`examples/${name}/main.ts`)) : [];
if (names.length === 0) console.log('There is no example yet; nothing was run.');

for (const name of names) {
  const started = performance.now();
  const { code, signal, output } = await run(`dist/examples/${name}/main.js`);
  const took = `${Math.round(performance.now() - started)} ms`;
  if (code === 0) console.log(`examples/${name} ended well after ${took}.`);
  else {
    console.error(`examples/${name} ended with ${signal ?? `exit code ${code}`} after ${took}:\n${output}`);
    process.exitCode = 1;
  }
}

function run(path) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [path], { stdio: ['ignore', 'pipe', 'pipe'], timeout: TIME_MS, killSignal: 'SIGKILL' });
    let output = '';
    const keep = (chunk) => (output = (output + chunk).slice(-20_000));
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, output }));
  });
}

// A server that listens: its process is started before the tests and ended after them.
import { spawn } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { runs } from './processes.ts';

export interface ServerProcess {
  readonly pid: number;
  /** What it wrote when it was ready. */
  readonly greeting: RegExpExecArray;
  stop(): Promise<void>;
}

/** Starts `script` with node and resolves when it wrote what `ready` describes, to either of its streams. */
export async function startServerProcess(
  script: string,
  args: readonly string[],
  { ready, env = {} }: { readonly ready: RegExp; readonly env?: Readonly<Record<string, string>> },
): Promise<ServerProcess> {
  const child = spawn(process.execPath, [script, ...args], { env: { ...process.env, ...env }, stdio: 'pipe' });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  let written = '';
  const greeting = await new Promise<RegExpExecArray>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        written += text;
        const found = ready.exec(written);
        if (found !== null) resolve(found);
      });
    }
    void ended.then(() => reject(new Error(`${script} ended before it was ready:\n${written}`)));
  });
  const pid = child.pid as number;
  return {
    pid,
    greeting,
    async stop() {
      child.stdin.end();
      if (runs(pid)) child.kill('SIGKILL');
      await ended;
    },
  };
}

/** A port that nobody listens on: for servers that cannot say which one they were given. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

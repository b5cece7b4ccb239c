// A process of its own at a store; see test/contracts/store-process.mjs.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline/promises';

export interface StoreProcess {
  readonly pid: number;
  /** Lets it act, and resolves with what it printed. */
  go(): Promise<unknown>;
  /** Ends it as `kill -9` does; nothing when it has ended. */
  kill(): Promise<void>;
}

const SCRIPT = new URL('../contracts/store-process.mjs', import.meta.url).pathname;

/** Starts it, and resolves when it waits to be let go. */
export async function startStoreProcess(address: string, args: readonly string[]): Promise<StoreProcess> {
  const child = spawn(process.execPath, [SCRIPT, address, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done) throw new Error('The process at the store ended too early.');
    return value;
  };
  await line();
  return {
    pid: child.pid as number,
    async go() {
      child.stdin.write('go\n');
      return JSON.parse(await line()) as unknown;
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

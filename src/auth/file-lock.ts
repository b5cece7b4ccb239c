// A lock between processes: a file that one of them has made. It ends with its holder or after its time, and is broken by one
// process at a time, so that no lock is broken that is still held.
import { randomUUID } from 'node:crypto';
import { readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { ParleyError } from '../errors.ts';
import { seconds } from '../jsonrpc/index.ts';
import { sleep, type Clock } from '../base/index.ts';

export interface FileLockOptions {
  /** Milliseconds to wait for it. */
  readonly waitMs: number;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly signal: AbortSignal;
}

/** Longer than anything that is done under it. */
const LIFE_MS = 60_000;
const POLL_MS = 25;
/** Writing a lock or breaking one takes no time: who has not done it by then has died. */
const MOMENT_MS = 5_000;

/**
 * Runs `act` while holding the lock at `path`.
 * @throws ParleyError `timeout` when others hold it too long, or the signal's reason
 */
export async function withFileLock<T>(path: string, act: () => Promise<T>, options: FileLockOptions): Promise<T> {
  const { waitMs, clock, now, signal } = options;
  const holder = randomUUID();
  const since = clock.now();
  while (!(await create(path, JSON.stringify({ holder, pid: process.pid, host: hostname(), until: now() + LIFE_MS })))) {
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text !== undefined && (await isDead(path, text, now()))) await breakLock(path, text);
    if (clock.now() - since >= waitMs) {
      const message = `Another process has been renewing the same sign-in for more than ${seconds(waitMs)}. Try again.`;
      throw new ParleyError('timeout', message, { details: { afterMs: waitMs }, retryable: true });
    }
    await sleep(POLL_MS, { clock, signal });
  }
  try {
    return await act();
  } finally {
    // Not one that was broken meanwhile and belongs to another by now.
    const text = await readFile(path, 'utf8').catch(() => '');
    if (text.includes(holder)) await unlink(path).catch(() => {});
  }
}

/** True when the file was made; false when there is one. */
async function create(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** True when the holder has ended, or has held it for longer than anybody may. */
async function isDead(path: string, text: string, now: number): Promise<boolean> {
  let holder: { pid?: unknown; host?: unknown; until?: unknown };
  try {
    holder = JSON.parse(text) as typeof holder;
  } catch {
    // Made, but not written yet; or its maker died in between.
    return isOld(path);
  }
  const { pid, host, until } = holder;
  if (typeof until !== 'number' || until < now || until > now + LIFE_MS) return true;
  if (host !== hostname() || typeof pid !== 'number') return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** Removes a lock that was found dead, unless it is another one by now. */
async function breakLock(path: string, dead: string): Promise<void> {
  const breaker = `${path}.break`;
  if (!(await create(breaker, ''))) {
    if (await isOld(breaker)) await unlink(breaker).catch(() => {});
    return;
  }
  try {
    if ((await readFile(path, 'utf8').catch(() => '')) === dead) await unlink(path).catch(() => {});
  } finally {
    await unlink(breaker).catch(() => {});
  }
}

async function isOld(path: string): Promise<boolean> {
  const made = await stat(path).catch(() => undefined);
  return made !== undefined && Date.now() - made.mtimeMs > MOMENT_MS;
}

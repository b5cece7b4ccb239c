// Open files that this process was itself started with and that would go on to every process it starts. Node marks the first few
// of them so that they do not; here the others are found, for a server is to have its three streams and nothing else.
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';

const CLOSE_ON_EXEC = 0o2000000;
let strays: readonly number[] | undefined;

/** Runs `begin` with what to put after the three streams in the `stdio` of `spawn`: in the place of each stray, a file that is empty. */
export function withoutStrays<T>(begin: (more: readonly (number | 'ignore')[]) => T): T {
  strays ??= findStrays();
  if (strays.length === 0) return begin([]);
  const empty = openSync('/dev/null', 'r+');
  try {
    const more: (number | 'ignore')[] = Array<'ignore'>(Math.max(...strays) - 2).fill('ignore');
    for (const fd of strays) more[fd - 3] = empty;
    return begin(more);
  } finally {
    closeSync(empty);
  }
}

/** Where they cannot be listed there are none that we know of. */
function findStrays(): readonly number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc/self/fdinfo')
    .map(Number)
    .filter((fd) => fd > 2 && isPassedOn(fd));
}

function isPassedOn(fd: number): boolean {
  try {
    const [, flags] = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${String(fd)}`, 'utf8')) ?? [];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // The list itself was read through it.
    return false;
  }
}

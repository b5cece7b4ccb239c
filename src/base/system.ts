// What the operating system says of a file or a process, for whoever must not take it for another. A door of its own, so that a client
// that asks neither does not load it.
import { readFileSync } from 'node:fs';

/** Bits of a file's mode: what others than its owner may do with it. */
export const OTHERS = { any: 0o077, write: 0o022 } as const;

/** True when none of the `owners` (default: this process's user) owns the file or folder, or others may do what only its owner is to do. */
export function isForeign(
  found: { readonly uid: number; readonly mode: number },
  others: number,
  owners: readonly (number | undefined)[] = [process.getuid?.()],
): boolean {
  // Elsewhere modes and owners say nothing.
  if (process.platform === 'win32') return false;
  return !owners.includes(found.uid) || (found.mode & others) !== 0;
}

/** A process as Linux tells of it. */
export interface ProcessStat {
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** In ticks since the machine was started; with the pid it names one process for ever. */
  readonly startedAt: number;
  /** Pages of memory that it has at hand. */
  readonly residentPages: number;
}

/** Returns what Linux tells of a process; undefined when it does not run any more, or nobody tells. */
export function processStat(pid: number): ProcessStat | undefined {
  let text: string;
  try {
    // Whatever its name is made of: Node reads this encoding in half the time.
    text = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // pid (name) state parent group session …: the name may hold anything, so the fields are counted from its end.
  const [state = '', parent, group, session, ...more] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  if (state === '' || state === 'Z' || state === 'X') return undefined;
  const [startedAt, , residentPages] = more.slice(15);
  return {
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    startedAt: Number(startedAt),
    residentPages: Number(residentPages),
  };
}

// Whether a process still runs, as far as this one can tell. The number of a process may belong to another one later, so the time
// at which it started goes with it.
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { processStat } from '../../base/system.ts';

export interface ProcessMark {
  /** Where process numbers mean the same: machine, its run, and the container. */
  readonly place: string;
  readonly pid: number;
  /** When it started, in the system's own measure; '' where that is not told. */
  readonly started: string;
}

/** This process. */
export function ownMark(): ProcessMark {
  return { place: placeHere(), pid: process.pid, started: startOf(process.pid) ?? '' };
}

/** `gone` and `alive` are sure; `unknown` is a process elsewhere, or of a system that does not tell enough. */
export function lifeOf({ place, pid, started }: ProcessMark): 'gone' | 'alive' | 'unknown' {
  if (place !== placeHere()) return 'unknown';
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Otherwise it is there, and somebody else's.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return 'gone';
  }
  if (started === '') return 'unknown';
  return startOf(pid) === started ? 'alive' : 'gone';
}

function placeHere(): string {
  return [hostname(), read('/proc/sys/kernel/random/boot_id'), link('/proc/self/ns/pid')].join(' ');
}

/** When the process started; undefined when it does not run any more, or nobody tells. */
function startOf(pid: number): string | undefined {
  return processStat(pid)?.startedAt.toString();
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1').trim();
  } catch {
    return '';
  }
}

function link(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

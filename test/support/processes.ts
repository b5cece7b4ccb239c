// What a test asks about processes that it did not start itself. All of them carry the mark of their test file (see leaks.ts)
// as far as whoever started them passed it on.
import { readdirSync, readFileSync } from 'node:fs';

/** Ids of the running processes whose environment has `name=value`. Those that have ended and wait to be reaped do not count. */
export function processesWith(name: string, value: string): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && environmentOf(pid).includes(`${name}=${value}`) && runs(pid));
}

function environmentOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${String(pid)}/environ`, 'utf8').split('\0');
  } catch {
    // It ended while it was looked at, or is somebody else's.
    return [];
  }
}

/** True while the process runs. */
export function runs(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
    return !stat.slice(stat.lastIndexOf(')')).startsWith(') Z');
  } catch {
    return false;
  }
}

// The processes that were started with a variable, or inherited it. Linux alone tells.
import { readdirSync, readFileSync } from 'node:fs';

/** Ids of the running processes in whose environment `mark` stands. */
export function markedProcesses(mark) {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark);
    } catch {
      return false;
    }
  });
}

// The processes of this machine as Linux lists them, and which of them belong to one server. Reads only; signals nobody.
import { readdirSync, readFileSync } from 'node:fs';
import { processStat, type ProcessStat } from '../../base/system.ts';

/** One process that runs. */
export interface Row extends ProcessStat {
  readonly pid: number;
}

/** How the processes of one server are known. */
export interface Kinship {
  /** The process that we started, which leads a session of its own. */
  readonly leader: number;
  readonly startedAt: number;
  /** A variable, as `NAME=value`, that the leader was started with and its children inherit. */
  readonly mark: string;
  /** Others that were found to belong to it before, by their pid. */
  readonly known: ReadonlyMap<number, Row>;
}

/** Whether a process has the variable `mark`, as `NAME=value`. */
export type IsMarked = (pid: number, mark: string) => boolean;

/** All processes that run; those that have ended and that nobody has reaped do not count. */
export function processTable(): readonly Row[] {
  return processIds().flatMap((pid) => readRow(pid) ?? []);
}

/** The numbers of all processes, also of those that have ended and that nobody has reaped. */
export function processIds(): readonly number[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? Number(name) : []));
}

/** One process, or undefined when it does not run. */
export function readRow(pid: number): Row | undefined {
  const stat = processStat(pid);
  return stat && { pid, ...stat };
}

/** True when the process was started with the variable `mark`, or inherited it. */
export function carries(pid: number, mark: string, variables = variablesOf): boolean {
  return variables(pid).includes(`\0${mark}\0`);
}

/** The variables that the process was started with, each between two zero bytes. */
export function variablesOf(pid: number): string {
  try {
    return `\0${readFileSync(`/proc/${String(pid)}/environ`, 'utf8')}`;
  } catch {
    // It ended while it was looked at, or is somebody else's.
    return '';
  }
}

/**
 * The rows that belong to the server: its leader and those known before, each only while it is the very same process; all that
 * carry its mark; and whatever descends from one of them or shares a session with it, since no stranger can.
 */
export function familyOf(table: readonly Row[], kinship: Kinship, isMarked: IsMarked = carries): readonly Row[] {
  const { leader, startedAt, mark, known } = kinship;
  // What is older than the server cannot come from it, and need not be looked at closely.
  const candidates = table.filter((row) => row.startedAt >= startedAt);
  const family = new Map<number, Row>();
  const sessions = new Set<number>();
  const add = (row: Row) => {
    family.set(row.pid, row);
    // 0 stands for any session outside of this container.
    if (row.session !== 0) sessions.add(row.session);
  };
  const spread = () => {
    for (let before = -1; before !== family.size;) {
      before = family.size;
      for (const row of candidates) {
        if (!family.has(row.pid) && (family.has(row.parent) || sessions.has(row.session))) add(row);
      }
    }
  };
  for (const row of candidates) {
    const isLeader = row.pid === leader && row.startedAt === startedAt;
    if (isLeader || known.get(row.pid)?.startedAt === row.startedAt) add(row);
  }
  spread();
  for (const row of candidates) if (!family.has(row.pid) && isMarked(row.pid, mark)) add(row);
  spread();
  return [...family.values()];
}

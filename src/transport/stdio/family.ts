// What must not outlive a server: the process we started and all that came of it. On Linux that is found whatever it did to
// hide, elsewhere it is the process group (Windows: the tree). Nobody is signalled by a number that may be somebody else's by now.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { carries, familyOf, processTable, readRow, type IsMarked, type Kinship, type Row } from './census.ts';
import { Reaper } from './reaper.ts';
import { UsageWatch, type Bounds, type Excess } from './usage.ts';

/** The variable that every server process is marked with. Its value is new for each. */
export const MARK = 'PARLEY_CHILD';

type Signal = 'SIGTERM' | 'SIGKILL';

const isLinux = process.platform === 'linux';
/** What is killed may have begun another meanwhile: how often in a row it is looked for before others get their turn. */
const MAX_SWEEPS = 10;
/** So many of these sweeps may only stop what they find. */
const MAX_STOPS = 5;
/** How gladly the system ends a server when memory runs out, from -1,000 to 1,000. */
const FIRST_TO_GO = 500;

const run = randomBytes(12).toString('hex');
const reaper = new Reaper(`${MARK}=${run}.`);
const live = new Map<number, Family>();
const usage = new UsageWatch(live);
let count = 0;

/** Begins a family before its first process runs, so that whoever cleans up after us knows of it in time. */
export function createFamily(): Family {
  return new Family(++count);
}

export class Family {
  /** The value of `MARK` in the environment of its processes. */
  readonly mark: string;
  readonly #number: number;
  #leader = 0;
  #kinship: Kinship | undefined;
  #met: ReadonlySet<number> = new Set();
  #bounds: Bounds | undefined;
  #report: ((excess: Excess) => void) | undefined;

  constructor(number: number) {
    this.mark = `${run}.${String(number)}`;
    this.#number = number;
    live.set(number, this);
    reaper.expect(number);
  }

  /** Takes note of its first process, which leads a session and group of its own. Called while its number is surely its own. */
  begin(leader: number): void {
    this.#leader = leader;
    const startedAt = isLinux ? readRow(leader)?.startedAt : undefined;
    reaper.meet(this.#number, leader, startedAt);
    if (!isLinux) return;
    makeExpendable(leader);
    // One that has ended by now is known by its mark alone.
    this.#kinship = { leader, startedAt: startedAt ?? 0, mark: `${MARK}=${this.mark}`, known: new Map() };
  }

  /** What it may use. `report` is called once, when it uses more; never where the system does not tell what it uses. */
  bound(bounds: Bounds, report: (excess: Excess) => void): void {
    this.#bounds = bounds;
    this.#report = report;
    if (this.#kinship !== undefined) usage.start();
  }

  /** Undefined while there are none, and once it went past them. */
  get bounds(): Bounds | undefined {
    return this.#bounds;
  }

  /** One that was begun before its parent was made expendable is made so itself. */
  meet(members: readonly Row[]): void {
    for (const { pid } of members) if (!this.#met.has(pid)) makeExpendable(pid);
    this.#met = new Set(members.map(({ pid }) => pid));
  }

  exceeded(excess: Excess, seen: readonly Row[]): void {
    this.#bounds = undefined;
    // Each moment in which it still goes on makes the next step slower.
    this.#send('SIGSTOP', seen);
    this.#report?.(excess);
  }

  /** Its processes among these. They stay known, so that one whose parent ends next is still found. */
  among(table: readonly Row[], isMarked: IsMarked = carries): readonly Row[] {
    if (this.#kinship === undefined) return [];
    const family = familyOf(table, this.#kinship, isMarked);
    this.#kinship = { ...this.#kinship, known: new Map(family.map((row) => [row.pid, row])) };
    return family;
  }

  /** True when nothing of it is left; it is then forgotten. */
  isGone(): boolean {
    if (!live.has(this.#number)) return true;
    if (this.#kinship === undefined ? answers(this.#leader) : this.among(processTable()).length > 0) return false;
    this.dismiss();
    return true;
  }

  /** Signals all of it. Windows has no signals: there, both kinds end the tree at once. */
  signal(signal: Signal): void {
    if (!live.has(this.#number) || this.#leader === 0) return;
    if (this.#kinship !== undefined) return this.#signalRows(signal);
    if (process.platform === 'win32') return endTree(this.#leader);
    send(-this.#leader, signal);
  }

  /** Forgets it without touching it. */
  dismiss(): void {
    live.delete(this.#number);
    reaper.forget(this.#number);
  }

  #signalRows(signal: Signal): void {
    if (signal !== 'SIGKILL') return this.#send(signal, this.among(processTable()));
    // What is stopped begins no other and leaves nobody alone, so that none is missed: they are killed once all are found.
    const stopped = new Set<number>();
    for (let sweep = 0; sweep < MAX_SWEEPS; sweep++) {
      const family = this.among(processTable());
      if (family.length === 0) return;
      const areFound = family.every(({ pid }) => stopped.has(pid));
      this.#send(areFound || sweep >= MAX_STOPS ? 'SIGKILL' : 'SIGSTOP', family);
      // They will not run again; whoever waits for their end asks whether they are gone.
      if (areFound) return;
      for (const { pid } of family) stopped.add(pid);
    }
  }

  #send(signal: NodeJS.Signals, family: readonly Row[]): void {
    // The whole group in one act, which nobody in it can outrun.
    if (family.some(({ group }) => group === this.#leader)) send(-this.#leader, signal);
    for (const { pid, group } of family) if (group !== this.#leader) send(pid, signal);
  }
}

/**
 * Kills every server process this module instance has started and that still lives, at once and synchronously: for a
 * `process.on('exit')` listener, so that an interrupt or a crash of the host leaves no child behind.
 */
export function killAllGroups(): void {
  for (const family of live.values()) family.signal('SIGKILL');
}

/** True while the system knows the group, or on Windows its leader. */
function answers(leader: number): boolean {
  try {
    process.kill(process.platform === 'win32' ? leader : -leader, 0);
    return true;
  } catch (error) {
    // EPERM: something is alive that we may not signal.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Lets the system end a process, and those it begins from then on, before others when memory runs out, and write next to nothing of
 * it to the disk when it crashes.
 */
function makeExpendable(pid: number): void {
  const folder = `/proc/${String(pid)}`;
  try {
    writeFileSync(`${folder}/coredump_filter`, '0');
    const before = Number(readFileSync(`${folder}/oom_score_adj`, 'utf8'));
    if (before < FIRST_TO_GO) writeFileSync(`${folder}/oom_score_adj`, String(FIRST_TO_GO));
  } catch {
    // It ended, or is of a kind that only the system may change.
  }
}

function send(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch {
    // It ended meanwhile, or took rights that we do not have.
  }
}

function endTree(leader: number): void {
  const taskkill = join(process.env['SystemRoot'] ?? 'C:\\Windows', 'System32', 'taskkill.exe');
  spawnSync(taskkill, ['/pid', String(leader), '/T', '/F'], { windowsHide: true, timeout: 5_000 });
}

// What must not outlive a server: the process we started and all that came of it. On Linux that is found whatever it did to
// hide, elsewhere it is the process group (Windows: the tree). Nobody is signalled by a number that may be somebody else's by now.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { familyOf, processTable, readRow, type Kinship, type Row } from './census.ts';
import { Reaper } from './reaper.ts';

/** The variable that every server process is marked with. Its value is new for each. */
export const MARK = 'PARLEY_CHILD';

type Signal = 'SIGTERM' | 'SIGKILL';

const isLinux = process.platform === 'linux';
/** What is killed may have begun another meanwhile: how often in a row it is looked for before others get their turn. */
const MAX_SWEEPS = 10;

const run = randomBytes(12).toString('hex');
const reaper = new Reaper(`${MARK}=${run}.`);
const live = new Map<number, Family>();
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
    // One that has ended by now is known by its mark alone.
    this.#kinship = { leader, startedAt: startedAt ?? 0, mark: `${MARK}=${this.mark}`, known: new Map() };
  }

  /** True when nothing of it is left; it is then forgotten. */
  isGone(): boolean {
    if (!live.has(this.#number)) return true;
    if (this.#kinship === undefined ? answers(this.#leader) : this.#look(this.#kinship).length > 0) return false;
    this.dismiss();
    return true;
  }

  /** Signals all of it. Windows has no signals: there, both kinds end the tree at once. */
  signal(signal: Signal): void {
    if (!live.has(this.#number) || this.#leader === 0) return;
    if (this.#kinship !== undefined) return this.#signalRows(this.#kinship, signal);
    if (process.platform === 'win32') return endTree(this.#leader);
    send(-this.#leader, signal);
  }

  /** Forgets it without touching it. */
  dismiss(): void {
    live.delete(this.#number);
    reaper.forget(this.#number);
  }

  /** Its processes now. They stay known, so that one whose parent ends next is still found. */
  #look(kinship: Kinship): readonly Row[] {
    const family = familyOf(processTable(), kinship);
    this.#kinship = { ...kinship, known: new Map(family.map((row) => [row.pid, row])) };
    return family;
  }

  #signalRows(kinship: Kinship, signal: Signal): void {
    // What was asked to end need not be asked twice.
    for (let sweep = 0; sweep < (signal === 'SIGKILL' ? MAX_SWEEPS : 1); sweep++) {
      const family = this.#look(this.#kinship ?? kinship);
      if (family.length === 0) return;
      // The whole group in one act, which nobody in it can outrun.
      if (family.some(({ group }) => group === this.#leader)) send(-this.#leader, signal);
      for (const { pid, group } of family) if (group !== this.#leader) send(pid, signal);
    }
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

function send(target: number, signal: Signal): void {
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

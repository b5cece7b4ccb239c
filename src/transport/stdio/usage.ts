// What the processes of servers use: looked at once in a while, by one timer for all of them that never keeps this process alive.
// Only Linux tells. It reads and reports; whoever set the bounds ends the server.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as rest } from 'node:timers/promises';
import type { LimitName } from '../../base/index.ts';
import { carries, processIds, readRow, variablesOf, type IsMarked, type Row } from './census.ts';

/** What one server may use, its process and all that came of it. */
export type Bounds = Readonly<Record<Bound, number>>;
type Bound = Extract<LimitName, `maxServer${string}`>;

/** What a server went past. */
export interface Excess {
  readonly limit: Bound;
  readonly allowed: number;
  readonly observed: number;
}

/** A server that is looked at. */
interface Bounded {
  /** What it may use, once that is known and until it was exceeded. */
  readonly bounds: Bounds | undefined;
  /** Those of `table` that belong to it. */
  among(table: readonly Row[], isMarked: IsMarked): readonly Row[];
  /** These processes of it run, and are within its bounds as far as is known yet. */
  meet(members: readonly Row[]): void;
  /** It went past a bound. `seen`: processes of it that ran just now. */
  exceeded(excess: Excess, seen: readonly Row[]): void;
}

/** How long it rests between two looks, unless the machine has so many tasks more: whoever begins them takes time from us as well. */
const REST_MS = 1_000;
const MANY = 32;
/** How often it asks for that. */
const GLANCE_MS = 250;
/** All looks together take no more than this part of the time, as long as they are not too far apart for it. */
const RESTS_PER_LOOK = 200;
const MAX_REST_MS = 4_000;

export class UsageWatch {
  readonly #servers: ReadonlyMap<unknown, Bounded>;
  /** The server of every process that was there at the last look; undefined for one that belongs to none, as it then never will. */
  #owners: ReadonlyMap<number, Owner | undefined> = new Map();
  #runs = false;

  /** `servers`: all that live, also those without bounds, or their processes would be taken for somebody else's. */
  constructor(servers: ReadonlyMap<unknown, Bounded>) {
    this.#servers = servers;
  }

  /** Looks from now on for as long as there is a server. */
  start(): void {
    if (!this.#runs) void this.#run();
  }

  async #run(): Promise<void> {
    this.#runs = true;
    let leastMs = 0;
    let tasks = tasksInAll();
    while (this.#servers.size > 0) {
      await untilDue(leastMs, tasks);
      tasks = tasksInAll();
      const begunAt = performance.now();
      await this.look();
      leastMs = Math.min((performance.now() - begunAt) * RESTS_PER_LOOK, MAX_REST_MS);
    }
    this.#owners = new Map();
    this.#runs = false;
  }

  /** Looks once, and tells each server that goes past a bound. */
  async look(): Promise<void> {
    const found = [...this.#membersByServer()];
    for (const [server, members] of found) {
      const excess = server.bounds && excessAtOnce(members, server.bounds);
      if (excess === undefined) server.meet(members);
      else server.exceeded(excess, members);
    }
    for (const [server, members] of found) {
      const excess = server.bounds && (await excessOfMemory(members, server.bounds));
      if (excess !== undefined) server.exceeded(excess, []);
    }
  }

  /**
   * Without a break, so that no server begins meanwhile. The files of /proc are on no disk: to wait for them costs five times what
   * reading them does.
   */
  #membersByServer(): ReadonlyMap<Bounded, readonly Row[]> {
    const ids = processIds();
    const before = this.#owners;
    const table = ids.filter((pid) => !before.has(pid) || before.get(pid) !== undefined).flatMap((pid) => readRow(pid) ?? []);
    const owners = new Map<number, Owner | undefined>(ids.map((pid) => [pid, undefined]));
    const found = new Map<Bounded, readonly Row[]>();
    const variables = new Map<number, string>();
    const isMarked = (pid: number, mark: string) =>
      carries(pid, mark, () => {
        const known = variables.get(pid) ?? variablesOf(pid);
        variables.set(pid, known);
        return known;
      });
    for (const server of this.#servers.values()) {
      // Whatever belongs to another server need not be asked for its mark again.
      const candidates = table.filter(({ pid, startedAt }) => {
        const owner = before.get(pid);
        return owner?.startedAt !== startedAt || owner.server === server;
      });
      const members = server.among(candidates, isMarked);
      for (const { pid, startedAt } of members) owners.set(pid, { server, startedAt });
      found.set(server, members);
    }
    this.#owners = owners;
    return found;
  }
}

interface Owner {
  readonly server: Bounded;
  readonly startedAt: number;
}

/** Resolves when the next look is due, `leastMs` from now at the earliest. `tasks`: how many there were at the last one. */
async function untilDue(leastMs: number, tasks: number): Promise<void> {
  await rest(leastMs, undefined, { ref: false });
  for (let restedMs = leastMs; restedMs < REST_MS && !(tasksInAll() - tasks >= MANY); restedMs += GLANCE_MS) {
    await rest(GLANCE_MS, undefined, { ref: false });
  }
}

/** Processes and threads of this machine; NaN where that is not told. */
function tasksInAll(): number {
  try {
    // 0.20 0.18 0.12 1/80 11206: the second of the pair.
    return Number(readFileSync('/proc/loadavg', 'utf8').split(/[ /]/)[4]);
  } catch {
    return NaN;
  }
}

function excessAtOnce(members: readonly Row[], bounds: Bounds): Excess | undefined {
  return (
    excessOf('maxServerProcesses', members.length, bounds) ??
    excessOf('maxServerFiles', Math.max(0, ...members.map(({ pid }) => openFiles(pid))), bounds)
  );
}

async function excessOfMemory(members: readonly Row[], bounds: Bounds): Promise<Excess | undefined> {
  // What processes share counts for each of them here; the honest figure takes long to find.
  const most = excessOf('maxServerMemoryBytes', sum(members.map(resident)), bounds);
  return most && excessOf('maxServerMemoryBytes', sum(await Promise.all(members.map(fairShare))), bounds);
}

function excessOf(limit: Bound, observed: number, { [limit]: allowed }: Bounds): Excess | undefined {
  return observed > allowed ? { limit, allowed, observed } : undefined;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

let pageBytes: number | undefined;

/** Bytes of memory that a process has at hand, whoever else uses them. */
function resident({ residentPages }: Row): number {
  // A page is what fits between two accounts of this process.
  pageBytes ??= 2 ** Math.round(Math.log2(process.memoryUsage.rss() / (readRow(process.pid)?.residentPages ?? 1)));
  return residentPages * pageBytes;
}

/** Bytes of memory that a process uses: of those it shares with others its share, and what was moved to the disk. */
async function fairShare(row: Row): Promise<number> {
  try {
    const text = await readFile(`/proc/${String(row.pid)}/smaps_rollup`, 'utf8');
    return 1_024 * sum([...text.matchAll(/^(?:Pss|SwapPss):\s*(\d+) kB$/gm)].map(([, kib]) => Number(kib)));
  } catch {
    // Its program may not be looked into; when it ended meanwhile, the next look will see.
    return resident(row);
  }
}

/** Files, sockets and pipes that a process has open; 0 when that is told to nobody. */
function openFiles(pid: number): number {
  const folder = `/proc/${String(pid)}/fd`;
  try {
    // Linux since 6.2 counts them itself.
    const { size } = statSync(folder);
    return size > 0 ? size : readdirSync(folder).length;
  } catch {
    return 0;
  }
}

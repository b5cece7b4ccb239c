import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { readRow, type Row } from './census.ts';
import { until } from './fixtures/processes.ts';
import { UsageWatch, type Bounds, type Excess } from './usage.ts';

const children: ChildProcess[] = [];

afterEach(async () => {
  for (const child of children.splice(0)) {
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  }
});

async function begin(count: number): Promise<readonly number[]> {
  const begun = Array.from({ length: count }, () => {
    const script = "process.stdout.write('ready'); setInterval(() => {}, 1000)";
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] });
    children.push(child);
    return new Promise<number>((resolve) => child.stdout.once('data', () => resolve(child.pid as number)));
  });
  return Promise.all(begun);
}

const WIDE: Bounds = { maxServerProcesses: 1_000, maxServerMemoryBytes: 2 ** 40, maxServerFiles: 100_000 };

/** A server that is these processes. */
function server(pids: readonly number[], bounds: Partial<Bounds> = {}) {
  const exceeded: Excess[] = [];
  const tables: (readonly number[])[] = [];
  const met: number[] = [];
  return {
    bounds: { ...WIDE, ...bounds },
    meet: (members: readonly Row[]) => void met.push(...members.map(({ pid }) => pid)),
    exceeded: (excess: Excess) => void exceeded.push(excess),
    among(table: readonly Row[]) {
      tables.push(table.map(({ pid }) => pid));
      return table.filter(({ pid }) => pids.includes(pid));
    },
    heard: exceeded,
    tables,
    met,
  };
}

async function look(...servers: readonly ReturnType<typeof server>[]): Promise<readonly Excess[]> {
  await new UsageWatch(new Map(servers.entries())).look();
  return servers.flatMap(({ heard }) => heard);
}

describe.runIf(process.platform === 'linux')('a look', () => {
  test('tells who has more processes than it may, and nobody else', async () => {
    const [one, two, three] = await begin(3);
    const pids = [one, two] as number[];
    const few = server(pids, { maxServerProcesses: 2 });
    expect(await look(few, server([three as number]))).toEqual([]);
    expect(few.met.sort()).toEqual([one, two].sort());
    expect(await look(server(pids, { maxServerProcesses: 1 }), server([three as number], { maxServerProcesses: 1 }))).toEqual([
      { limit: 'maxServerProcesses', allowed: 1, observed: 2 },
    ]);
  });

  test('tells of one process that has more files open than it may', async () => {
    const pids = [process.pid, ...(await begin(1))];
    const files = Array.from({ length: 300 }, () => openSync('/dev/null', 'r'));
    try {
      const [excess] = await look(server(pids, { maxServerFiles: 300 }));
      expect(excess).toMatchObject({ limit: 'maxServerFiles', allowed: 300 });
      expect(excess?.observed).toBeGreaterThan(300);
      expect(await look(server(pids, { maxServerFiles: (excess?.observed ?? 0) + 50 }))).toEqual([]);
    } finally {
      files.forEach((file) => closeSync(file));
    }
  });

  test('counts memory that processes share once', async () => {
    const pids = await begin(5);
    const pageBytes = process.memoryUsage.rss() / (readRow(process.pid)?.residentPages ?? 0);
    const inAll = pageBytes * pids.reduce((sum, pid) => sum + (readRow(pid)?.residentPages ?? 0), 0);
    expect(await look(server(pids, { maxServerMemoryBytes: Math.round(0.9 * inAll) }))).toEqual([]);
    const [excess] = await look(server(pids, { maxServerMemoryBytes: 5_000_000 }));
    expect(excess).toMatchObject({ limit: 'maxServerMemoryBytes', allowed: 5_000_000 });
    expect(excess?.observed).toBeGreaterThan(5_000_000);
    expect(excess?.observed).toBeLessThan(0.9 * inAll);
  });

  test('reads what belongs to no server once, what belongs to another not for this one, and what is new each time', async () => {
    const [one, two] = (await begin(2)) as [number, number];
    const [first, second] = [server([one]), server([two])];
    const watch = new UsageWatch(new Map([first, second].entries()));
    await watch.look();
    expect(first.tables[0]).toEqual(expect.arrayContaining([process.pid, one, two]));
    const [three] = (await begin(1)) as [number];
    await watch.look();
    expect(first.tables[1]).toEqual(expect.arrayContaining([one, three]));
    expect(first.tables[1]).not.toContain(two);
    expect(first.tables[1]).not.toContain(process.pid);
    expect(second.tables[1]).toContain(two);
  });

  test('is repeated for as long as there are servers', async () => {
    const servers = new Map([[1, server([process.pid], { maxServerProcesses: 1 })]]);
    new UsageWatch(servers).start();
    const { tables } = servers.get(1) as ReturnType<typeof server>;
    await until(() => tables.length > 1);
    servers.clear();
  });
});

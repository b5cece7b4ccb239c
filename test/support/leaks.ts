// Run with every test file: fails a file that leaves something behind, so that a leak shows where it was made.
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll } from 'vitest';

/** What may still end by itself, in milliseconds: a socket in its last exchange, a child that was just killed. */
const GRACE_MS = 10_000;
const LOOK_EVERY_MS = 20;

/** Handles that keep a process alive. */
const WATCHED = [
  'TCPServerWrap',
  'TCPSocketWrap',
  'PipeServerWrap',
  'PipeWrap',
  'ProcessWrap',
  'FSEventWrap',
  'Worker',
  'Timeout',
];

// Children inherit it, and so do theirs: an orphan that has changed its parent is found all the same.
const file = `${process.pid}-${Date.now()}`;
process.env['PARLEY_TEST_FILE'] = file;

let atStart = new Map<string, number>();

beforeAll(() => {
  atStart = handles();
  // The runner's own timers come and go; at the end there is a moment without any.
  atStart.delete('Timeout');
});

afterAll(async () => {
  const deadline = performance.now() + GRACE_MS;
  let left = leftBehind();
  while (left.length > 0 && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    left = leftBehind();
  }
  if (left.length > 0) throw new Error(`This test file leaves behind: ${left.join(', ')}. Close what its tests open.`);
});

function leftBehind(): string[] {
  const more = [...handles()]
    .filter(([name, count]) => count > (atStart.get(name) ?? 0))
    .map(([name, count]) => `${count - (atStart.get(name) ?? 0)} ${name}`);
  return [...more, ...children()];
}

function handles(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of process.getActiveResourcesInfo()) {
    if (WATCHED.includes(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

/** Processes that descend from this one and still run; none where there is no /proc. */
function children(): string[] {
  return processIds().flatMap((pid) => {
    try {
      // pid (name) state parent …: the name may hold anything, so the fields are counted from its end.
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (state === 'Z' || pid === process.pid) return [];
      const ours =
        Number(parent) === process.pid ||
        readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`PARLEY_TEST_FILE=${file}`);
      if (!ours) return [];
      return [`process ${pid} (${readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim()})`];
    } catch {
      // It ended while it was looked at.
      return [];
    }
  });
}

function processIds(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

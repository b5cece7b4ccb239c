// Process groups of servers: every child leads one, so that what a wrapper such as npx started ends with it.
// A group is signalled only while it is known to be alive: its number may belong to somebody else afterwards.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const live = new Set<number>();

/** Takes note of the group that `pid` leads. */
export function enlist(pid: number): void {
  live.add(pid);
}

/** True when no process of the group is left; it is then forgotten. On Windows only its leader can be looked for. */
export function isGone(pid: number): boolean {
  if (!live.has(pid)) return true;
  if (answers(pid) && !isDead(pid)) return false;
  live.delete(pid);
  return true;
}

/** True while the system knows the group. */
function answers(pid: number): boolean {
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 0);
    return true;
  } catch (error) {
    // EPERM: something is alive that we may not signal.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * True when all that is left of the group are dead processes that nobody reaps, as happens to orphans in a container
 * whose first process does not look after them. Where /proc does not tell, they count as alive.
 */
function isDead(group: number): boolean {
  if (process.platform !== 'linux') return false;
  try {
    return readdirSync('/proc').every((name) => !/^\d+$/.test(name) || !isLiveMember(name, group));
  } catch {
    return false;
  }
}

function isLiveMember(pid: string, group: number): boolean {
  try {
    // pid (name) state parent group …: the name may hold anything, so the fields are counted from its end.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state, , itsGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(itsGroup) === group && state !== 'Z' && state !== 'X';
  } catch {
    // It ended while it was looked at.
    return false;
  }
}

/** Forgets the group without touching it. */
export function dismiss(pid: number): void {
  live.delete(pid);
}

/** Signals every process of the group. Windows has no signals: there, both kinds end the tree at once. */
export function signalGroup(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (!live.has(pid)) return;
  if (process.platform === 'win32') {
    const taskkill = join(process.env['SystemRoot'] ?? 'C:\\Windows', 'System32', 'taskkill.exe');
    spawnSync(taskkill, ['/pid', String(pid), '/T', '/F'], { windowsHide: true, timeout: 5_000 });
    return;
  }
  try {
    process.kill(-pid, signal);
  } catch {
    // It ended meanwhile, or took rights that we do not have.
  }
}

/**
 * Kills every server process this module instance has started and that still lives, at once and synchronously: for a
 * `process.on('exit')` listener, so that an interrupt or a crash of the host leaves no child behind.
 */
export function killAllGroups(): void {
  for (const pid of [...live]) signalGroup(pid, 'SIGKILL');
}

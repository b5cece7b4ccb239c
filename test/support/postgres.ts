// A PostgreSQL of a test's own: a fresh cluster in a temporary folder, reached through a socket there, gone with the test.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, chownSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

export interface Postgres {
  /** Of a database that is empty at first. */
  readonly connectionString: string;
  /** Ends the server as a crash would, and starts it again. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** The folder of the newest server's programs, or undefined when none is installed. */
export function postgresPrograms(): string | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...versions.map((version) => join(debian, version, 'bin')), ...(process.env['PATH'] ?? '').split(':')];
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')));
}

/** Starts a server with the programs of that folder. It is never root, who may not run one. */
export async function startPostgres(programs: string): Promise<Postgres> {
  const user = process.getuid?.() === 0 ? unprivileged() : undefined;
  const folder = mkdtempSync(join(tmpdir(), 'parley-pg-'));
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  // No folder of root's, which they could not enter.
  const as = { ...user, cwd: folder, env: { ...process.env, HOME: folder } };
  const init = ['-D', data, '-U', 'parley', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'];
  execFileSync(join(programs, 'initdb'), init, { ...as, stdio: ['ignore', 'ignore', 'pipe'] });

  const start = async () => {
    // A crash of the machine is not what is tested, so nothing waits for the disk.
    const settings = ['fsync=off', 'listen_addresses=', `unix_socket_directories=${folder}`, 'max_connections=50'];
    const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
    const child = spawn(join(programs, 'postgres'), args, { ...as, stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
    while (!log.includes('ready to accept connections')) {
      if (child.exitCode !== null) throw new Error(`PostgreSQL did not start:\n${log}`);
      await pause(20);
    }
    return async () => {
      child.kill('SIGQUIT');
      await ended;
    };
  };

  let end = await start();
  return {
    connectionString: `postgres://parley@localhost/postgres?host=${encodeURIComponent(folder)}`,
    async restart() {
      await end();
      end = await start();
    },
    async stop() {
      await end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The user that the package made for it, or nobody. */
function unprivileged(): { readonly uid: number; readonly gid: number } {
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const [, , uid, gid] = ['postgres', 'nobody'].flatMap((name) => users.filter(([its]) => its === name))[0] ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}

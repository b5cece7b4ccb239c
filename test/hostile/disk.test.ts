// A server that fills the disk on which Parley keeps what it remembers: a small one, in a mount namespace, and the real command.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createCliHome, type CliHome } from '../support/cli.ts';

const FAKE = join(import.meta.dirname, 'fixtures/fake-stdio.mjs');
/** Runs the first script with a small disk in the place of its folder, and then as its arguments say. */
const SCRIPT = 'mount -t tmpfs -o size=4m tmpfs "$1" && shift && exec "$@"';

/** The words that a command is put behind to be run with a small disk at `folder`; undefined where this machine makes none. */
function withSmallDisk(folder: string): readonly string[] | undefined {
  return [['--mount'], ['--user', '--map-root-user', '--mount']]
    .map((flags) => ['unshare', ...flags, 'sh', '-c', SCRIPT, 'sh', folder])
    .find(([command = '', ...args]) => spawnSync(command, [...args, 'true']).status === 0);
}

const canBeMade = withSmallDisk(import.meta.dirname) !== undefined;
if (!canBeMade) process.stderr.write('A full disk is not tried: unshare makes no mount namespace here.\n');

describe.skipIf(!canBeMade)('a server that fills the disk', () => {
  let cli: CliHome;
  beforeEach(() => {
    cli = createCliHome();
  });
  afterEach(async () => {
    await expect.poll(() => cli.processes()).toEqual([]);
    cli.remove();
  });

  it('has its answer heard, is called no more while nothing can be written down, and harms no record', async () => {
    const file = join(cli.home, 'fill');
    const server = { command: process.execPath, args: [FAKE, '--mode', 'disk-fill', '--file', file], env: cli.mark };
    cli.write('given.json', { mcpServers: { s: server }, permissions: { allow: ['*/*'] } });
    // Step by step on the same disk.
    const steps = cli.write(
      'steps.sh',
      `"$@" call s/work; echo "first $?"
       "$@" call s/ping; echo "second $?"
       rm "$FILL"
       "$@" audit verify; "$@" call s/ping; echo "third $?"`,
    );
    const ran = await cli.run(['--config', 'given.json', '--allow', '*/*'], {
      behind: [...(withSmallDisk(cli.home) ?? []), 'sh', steps],
      env: { FILL: file },
    });
    expect(ran.stdout).toMatch(/ENOSPC[^]*first 0\nsecond 6\nThe record is whole[^]*pong[^]*third 0\n$/);
    expect(ran.stderr.split('\n')).toEqual([
      expect.stringMatching(
        /cannot be written down: .* \(SQLITE_FULL\)\. .* What was decided and done stands, and is missing in/,
      ),
      expect.stringMatching(/cannot be written down: .* \(SQLITE_FULL\)\. .* What is not written down is not sent\.$/),
      expect.stringMatching(/^The process that made a call ended before its answer came \(s\/work, .* the outcome is unknown\./),
      '',
    ]);
  });
});

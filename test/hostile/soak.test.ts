// The soak, for a few seconds: servers that crash, stall, flood and flap beside others that must live through it.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

it(
  'Servers that are well live through all that others do beside them, and nothing is left behind',
  { timeout: 180_000 },
  async () => {
    const ended = await new Promise<object>((resolve) => {
      execFile(process.execPath, ['scripts/soak.mjs', '--quick', '--seconds', '6'], { cwd: root }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : (error.code ?? error.signal), stdout, stderr }),
      );
    });
    expect(ended).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^[1-9]\d* calls of 3 healthy servers beside 8 bad ones[^]*Left: 0 processes, 0 handles\.\n$/,
      ) as string,
      stderr: '',
    });
  },
);

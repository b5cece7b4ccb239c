// The file of a store: its owner's alone, in a folder that nobody else can write to. What somebody else could have put there, or
// could read, is refused, and nothing of it is opened.
import { constants } from 'node:fs';
import { lstat, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isForeign, OTHERS } from '../../base/system.ts';
import { ParleyError } from '../../errors.ts';

/**
 * Makes the folder (mode 700) and the file (mode 600) where they are missing, and checks those that are there.
 * @throws ParleyError `config-invalid` when others can write to the folder or use the file, or they are not what they should be
 */
export async function ownFile(path: string): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const around = await lstat(folder);
  if (!around.isDirectory() || isForeign(around, OTHERS.write)) {
    const message = `${folder} is to hold what Parley remembers, but is not a folder that you alone can write to. Correct that.`;
    throw new ParleyError('config-invalid', message);
  }
  try {
    await (await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600)).close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  // SQLite gives the files beside it the mode of this one.
  for (const each of [path, `${path}-wal`, `${path}-shm`, `${path}-journal`]) {
    const found = await lstat(each).catch(() => undefined);
    if (found === undefined || (found.isFile() && !isForeign(found, OTHERS.any) && found.nlink === 1)) continue;
    const message = `${each} is not a file of yours alone (mode 600, no link). Nothing in it was used; correct that, or move it away.`;
    throw new ParleyError('config-invalid', message);
  }
}

// Which of a project's servers the user has agreed to start: remembered by a digest of the whole launch, never by name, so that any
// change asks again. Kept in the user's state folder, where no project can write.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { digest } from '../base/index.ts';
import { ParleyError } from '../errors.ts';
import type { ServerDefinition } from '../host/index.ts';

export interface LaunchTrust {
  /** True when the server is not a project's, or its launch as it is now was agreed to. */
  covers(server: ServerDefinition): boolean;
  /** @throws ParleyError `config-invalid` when it cannot be kept */
  add(server: ServerDefinition): void;
}

/** The digest of all that a launch consists of, and of the file that asks for it. */
function launchDigest(server: ServerDefinition): string {
  return digest({ file: server.source.file, launch: server.written });
}

export function openLaunchTrust(stateDir: string): LaunchTrust {
  const file = join(stateDir, 'trusted-launches.json');
  const read = (): readonly string[] => {
    try {
      const list: unknown = JSON.parse(readFileSync(file, 'utf8'));
      return Array.isArray(list) ? list.filter((item) => typeof item === 'string') : [];
    } catch {
      // No file, or one that nobody can read, trusts nothing.
      return [];
    }
  };
  return {
    covers: (server) => server.source.scope !== 'project' || read().includes(launchDigest(server)),
    add(server) {
      const list = [...new Set([...read(), launchDigest(server)])];
      try {
        mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
        writeFileSync(`${file}.new`, `${JSON.stringify(list, undefined, 2)}\n`, { mode: 0o600 });
        renameSync(`${file}.new`, file);
      } catch (error) {
        throw new ParleyError('config-invalid', `The trust in "${server.name}" cannot be kept in ${file}.`, { cause: error });
      }
    },
  };
}

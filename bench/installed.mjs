// How much an installed package brings: its own files and those of everything it depends on.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Megabytes of the package at `directory` and, found as Node finds them, of all its dependencies. `only` limits its own files. */
export function installedMb(directory, only = ['.']) {
  const found = new Map([[directory, only]]);
  for (const [each] of found) {
    const { dependencies = {} } = JSON.parse(readFileSync(join(each, 'package.json'), 'utf8'));
    for (const name of Object.keys(dependencies)) {
      const at = packageFrom(each, name);
      if (at !== undefined && !found.has(at)) found.set(at, ['.']);
    }
  }
  const sizes = [...found].flatMap(([each, parts]) => parts.map((part) => sizeOf(join(each, part))));
  return sizes.reduce((sum, size) => sum + size, 0) / 1e6;
}

/** The directory of the package `name` as the one at `directory` sees it. */
function packageFrom(directory, name) {
  for (let at = directory; ; at = dirname(at)) {
    const candidate = join(at, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return candidate;
    if (at === dirname(at)) return undefined;
  }
}

/** Bytes of the files in a package, without the packages that are installed inside it. */
function sizeOf(path) {
  const entry = statSync(path);
  if (!entry.isDirectory()) return entry.size;
  const inside = readdirSync(path).filter((name) => name !== 'node_modules');
  return inside.reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

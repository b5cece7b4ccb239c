// Packs the package as it would be published and looks at the tarball: what is in it, and whether every way of importing it
// finds its code and its types.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fail } from './page.mjs';

const UNWANTED = /(\.test\.|\/fixtures\/|\/examples\/|tsbuildinfo|\.ts\.map$)/;
const WANTED = ['package.json', 'README.md', 'LICENSE', 'dist/index.js', 'dist/index.d.ts', 'dist/cli/bin.js'];

const folder = mkdtempSync(join(tmpdir(), 'parley-package-'));
try {
  const [packed] = JSON.parse(run('npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', folder));
  const paths = packed.files.map((file) => file.path);
  for (const path of paths) if (UNWANTED.test(path)) fail(`${path} would be published.`);
  for (const path of WANTED) if (!paths.includes(path)) fail(`${path} would not be published.`);
  const tarball = join(folder, packed.filename);
  show('npx', '--no-install', 'publint', 'run', '--strict', tarball);
  show('npx', '--no-install', 'attw', '--profile', 'esm-only', '--no-emoji', tarball);
  console.log(`${paths.length} files, ${Math.round(packed.size / 1024)} KiB packed.`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function run(command, ...args) {
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

function show(command, ...args) {
  try {
    execFileSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  } catch {
    fail(`${args[1]} is not content with the package.`);
  }
}

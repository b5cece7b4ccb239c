// Looks at what would be published: all that a user needs is in it, and nothing that only the project needs.
import { execFileSync } from 'node:child_process';
import { fail } from './page.mjs';

const UNWANTED = /(\.test\.|\/fixtures\/|\/examples\/|tsbuildinfo|\.map$)/;
const WANTED = [
  'package.json',
  'README.md',
  'LICENSE',
  'dist/index.js',
  'dist/index.d.ts',
  'dist/cli/bin.js',
  'dist/cli/package.json',
  'dist/cli/program.js',
  'dist/cli/THIRD-PARTY-LICENSES.txt',
];

const [packed] = JSON.parse(execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { encoding: 'utf8' }));
const paths = packed.files.map((file) => file.path);
for (const path of paths) if (UNWANTED.test(path)) fail(`${path} would be published.`);
for (const path of WANTED) if (!paths.includes(path)) fail(`${path} would not be published.`);
console.log(`${paths.length} files would be published, ${Math.round(packed.size / 1024)} KiB packed.`);

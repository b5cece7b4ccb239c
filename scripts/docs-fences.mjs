// Fills every TypeScript fence of README.md and docs/ from the region of an example that the line before it names:
//   <!-- examples/support-desk/main.ts#connect -->
// With --check it compares and fails on drift. A fence that names no region always fails: what is shown must have run.
import { existsSync, readdirSync } from 'node:fs';
import { fail, readPage, settlePage } from './page.mjs';

const FENCE = /(?:^<!-- (?<source>\S+?)#(?<region>[\w-]+) -->\n\n?)?^```(?:ts|typescript)\b[^\n]*\n(?<code>[^]*?)^```$/gm;

for (const path of pages()) {
  const page = readPage(path);
  const filled = page.replace(FENCE, (fence, source, region, code, at) => {
    const line = page.slice(0, at).split('\n').length;
    const shown = source === undefined ? undefined : regionOf(source, region);
    if (shown !== undefined) return `${fence.slice(0, fence.length - code.length - 3)}${shown}\`\`\``;
    const wanted = source === undefined ? 'no region of an example' : `${source}#${region}, which is not there`;
    fail(`${path}:${line}: this TypeScript fence names ${wanted}.`);
    return fence;
  });
  settlePage(path, filled);
}

function pages() {
  const docs = existsSync('docs') ? readdirSync('docs', { recursive: true }).map((name) => `docs/${name}`) : [];
  return ['README.md', ...docs].filter((path) => path.endsWith('.md') && existsSync(path)).sort();
}

/** The lines between `// #region name` and the next `// #endregion`, moved left as one block; undefined when there are none. */
function regionOf(path, name) {
  if (!/^examples\/.*\.ts$/.test(path) || !existsSync(path)) return undefined;
  const lines = readPage(path).split('\n');
  const start = lines.findIndex((line) => line.trim() === `// #region ${name}`);
  if (start === -1) return undefined;
  const length = lines.slice(start + 1).findIndex((line) => line.trim() === '// #endregion');
  if (length <= 0) return undefined;
  const body = lines.slice(start + 1, start + 1 + length);
  const indent = Math.min(...body.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)));
  return body.map((line) => `${line.slice(indent)}\n`).join('');
}

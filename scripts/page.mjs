// What the scripts that fill pages share: one page, its new text, and whether to write it or only to compare.
import { readFileSync, writeFileSync } from 'node:fs';

const check = process.argv.includes('--check');

/** The page with line ends as `\n`. */
export function readPage(path) {
  return readFileSync(path, 'utf8').replaceAll('\r\n', '\n');
}

/** Writes `text` when it differs; with --check it prints what differs and fails the process instead. */
export function settlePage(path, text) {
  if (readPage(path) === text) return;
  if (check) fail(`${path} is not what its sources say. Run \`npm run docs\`.`);
  else writeFileSync(path, text);
}

/** Prints one finding and fails the process at its end. */
export function fail(message) {
  console.error(message);
  process.exitCode = 1;
}

// Fills the tables of limits in docs/robustness.md from src/base/limits.ts and serving.ts; with --check it compares and fails on drift.
import { format, resolveConfig } from 'prettier';
import { LIMITS } from '../dist/base/limits.js';
import { SERVING } from '../dist/base/serving.js';
import { fail, readPage, settlePage } from './page.mjs';

const PATH = 'docs/robustness.md';

const SIZES = [
  ['MiB', 1_048_576],
  ['KiB', 1_024],
];
const TIMES = [
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
];

/** The amount in the largest unit that it is a whole number of. */
function amount(value, unit) {
  const scale = unit === 'bytes' ? SIZES : unit === 'ms' ? TIMES : [];
  const fit = scale.find(([, size]) => value % size === 0);
  if (fit !== undefined) return `${(value / fit[1]).toLocaleString('en')} ${fit[0]}`;
  return `${value.toLocaleString('en')} ${unit}`;
}

const table = (...rows) => rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n');

const limits = Object.entries(LIMITS).map(([name, { default: usual, ceiling, unit, what, breach }]) => {
  const most = ceiling === usual ? 'fixed' : amount(ceiling, unit);
  return [`\`${name}\``, what, amount(usual, unit), most, breach];
});
const OPTION = { serveHttp: '`serveHttp`', createServer: '`createServer`', tasks: '`createServer`, in `tasks`' };
const serving = Object.entries(SERVING).map(([name, { default: usual, unit, option, what, breach }]) => {
  const setBy = option === undefined ? 'fixed' : OPTION[option];
  return [option === undefined ? '' : `\`${name}\``, what, amount(usual, unit), setBy, breach];
});
const rule = (cells) => cells.map(() => '---');
const withHead = (head, rows) => table(head, rule(head), ...rows);
const TABLES = {
  limits: withHead(['name', 'what', 'default', 'at most', 'what happens beyond'], limits),
  serving: withHead(['name', 'what', 'default', 'option of', 'what happens beyond'], serving),
};

let page = readPage(PATH);
for (const [place, text] of Object.entries(TABLES)) {
  const [startMark, endMark] = [`<!-- ${place}: start -->`, `<!-- ${place}: end -->`];
  const [start, end] = [page.indexOf(startMark), page.indexOf(endMark)];
  if (start === -1 || end < start) fail(`${PATH} has no place for the ${place}: it needs the lines ${startMark} and ${endMark}.`);
  else page = `${page.slice(0, start + startMark.length)}\n\n${text}\n\n${page.slice(end)}`;
}
settlePage(PATH, await format(page, { ...(await resolveConfig(PATH)), parser: 'markdown' }));

// Fills the table of limits in docs/robustness.md from src/base/limits.ts; with --check it compares and fails on drift.
import { format, resolveConfig } from 'prettier';
import { LIMITS } from '../dist/base/limits.js';
import { fail, readPage, settlePage } from './page.mjs';

const PATH = 'docs/robustness.md';
const [START, END] = ['<!-- limits: start -->', '<!-- limits: end -->'];

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

const rows = Object.entries(LIMITS).map(([name, { default: usual, ceiling, unit, what, breach }]) => {
  const most = ceiling === usual ? 'fixed' : amount(ceiling, unit);
  return `| \`${name}\` | ${what} | ${amount(usual, unit)} | ${most} | ${breach} |`;
});
const table = ['| name | what | default | at most | what happens beyond |', '| --- | --- | --- | --- | --- |', ...rows].join(
  '\n',
);

const page = readPage(PATH);
const [start, end] = [page.indexOf(START), page.indexOf(END)];
if (start === -1 || end < start) fail(`${PATH} has no place for the limits: it needs the lines ${START} and ${END}.`);
else {
  const filled = `${page.slice(0, start + START.length)}\n\n${table}\n\n${page.slice(end)}`;
  settlePage(PATH, await format(filled, { ...(await resolveConfig(PATH)), parser: 'markdown' }));
}

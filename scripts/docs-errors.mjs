// Fills the sections of docs/errors.md from the table in src/errors.ts; with --check it compares and fails on drift.
import { ERRORS } from '../dist/errors.js';
import { fail, readPage, settlePage } from './page.mjs';

const PATH = 'docs/errors.md';
const [START, END] = ['<!-- codes: start -->', '<!-- codes: end -->'];

const sections = Object.entries(ERRORS).map(
  ([code, { summary, remedy, exit, http }]) =>
    `### \`${code}\`\n\n${summary}\n\n- What to do: ${remedy}\n- Exit code: ${exit}\n- HTTP status: ${http}\n`,
);

const page = readPage(PATH);
const [start, end] = [page.indexOf(START), page.indexOf(END)];
if (start === -1 || end < start) fail(`${PATH} has no place for the codes: it needs the lines ${START} and ${END}.`);
else settlePage(PATH, `${page.slice(0, start + START.length)}\n\n${sections.join('\n')}\n${page.slice(end)}`);

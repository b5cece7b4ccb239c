// What a run shows: a table a case, the targets and whether they were met, and the same as tables in docs/performance.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';

const PAGE = fileURLToPath(new URL('../docs/performance.md', import.meta.url));
const [START, END] = ['<!-- measured: start -->', '<!-- measured: end -->'];

/** The rows of a case: name, median, least–most, ratio to its base, processor time a call, and what else it tells. */
function rowsOf({ case: each, contenders }) {
  const base = contenders.get(each.base ?? 'raw')?.median;
  return [...contenders].map(([name, found]) => {
    if (found.failed !== undefined) return [name, found.failed.slice(0, 100), '', '', ''];
    const { median, min, max, cpuUs } = found;
    const extra = Object.entries(each.extra ?? {}).flatMap(([key, unit]) =>
      found[key] === undefined ? [] : [`${show(found[key])} ${unit}`],
    );
    const cpu = cpuUs === undefined ? [] : [`${show(cpuUs)} µs`];
    return [
      name,
      show(median),
      `${show(min)}–${show(max)}`,
      base === undefined ? '' : (median / base).toFixed(2),
      [...cpu, ...extra].join(', '),
    ];
  });
}

export function printCase(result) {
  console.log(`\n${result.case.title} (${result.case.name}), ${result.case.unit}`);
  for (const [name, median, range, ratio, rest] of rowsOf(result)) {
    console.log(`  ${name.padEnd(18)} ${median.padStart(9)}  ${range.padEnd(20)} ${ratio.padStart(6)}  ${rest}`);
  }
}

/** What a case was to show: text, what was measured, and whether that is enough. */
function verdictsOf({ case: each, contenders }) {
  const subject = contenders.get(each.subject ?? 'parley');
  if (subject?.median === undefined) return [];
  const verdicts = [];
  for (const [rival, factor] of Object.entries(each.targets ?? {})) {
    const median = contenders.get(rival)?.median;
    if (median === undefined) continue;
    const isBase = rival === (each.base ?? 'raw');
    if (each.better === 'less' && isBase) {
      const ratio = subject.median / median;
      verdicts.push({ wanted: `≤ ${factor} × ${rival}`, found: ratio.toFixed(2), met: ratio <= factor });
    } else {
      const ratio = each.better === 'less' ? median / subject.median : subject.median / median;
      verdicts.push({ wanted: `≥ ${factor} × ${rival}`, found: ratio.toFixed(2), met: ratio >= factor });
    }
  }
  for (const { what, of = 'median', most } of each.bounds ?? []) {
    const allowed = most((name, member = 'median') => contenders.get(name)?.[member] ?? NaN);
    verdicts.push({ wanted: `≤ ${what} (${show(allowed)})`, found: show(subject[of]), met: subject[of] <= allowed });
  }
  return verdicts;
}

export function printVerdicts(results) {
  console.log('\nTargets');
  for (const result of results) {
    for (const { wanted, found, met } of verdictsOf(result)) {
      console.log(`  ${met ? 'met   ' : 'MISSED'} ${result.case.title}: ${wanted}, measured ${found}`);
    }
  }
}

/** Fills the measured part of the page; what stands around it is written by hand. */
export async function writePage(results, plan) {
  const page = readFileSync(PAGE, 'utf8');
  const [start, end] = [page.indexOf(START), page.indexOf(END)];
  if (start === -1 || end < start)
    throw new Error(`${PAGE} has no place for the tables: it needs the lines ${START} and ${END}.`);
  const targets = results.flatMap((result) =>
    verdictsOf(result).map(({ wanted, found, met }) => [result.case.title, wanted, found, met ? 'yes' : 'no']),
  );
  const parts = [
    machine(plan),
    '## Targets',
    table(['case', 'wanted', 'measured', 'met'], targets),
    '## All cases',
    ...results.flatMap((result) => {
      const { title, name, unit, better, base = 'raw' } = result.case;
      return [
        `### ${title}`,
        `\`${name}\`, ${unit}, ${better} is better; median, least and most of the rounds, and the ratio to ${base}.`,
        table(['', unit, 'range', `to ${base}`, 'each'], rowsOf(result)),
      ];
    }),
  ];
  const filled = `${page.slice(0, start + START.length)}\n\n${parts.join('\n\n')}\n\n${page.slice(end)}`;
  writeFileSync(PAGE, await format(filled, { ...(await resolveConfig(PAGE)), parser: 'markdown' }));
}

function machine({ rounds, seconds }) {
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));
  const versions = Object.entries(dependencies).map(([name, version]) => `${name} ${version}`);
  const [{ model }] = cpus();
  return [
    `Measured on ${new Date().toISOString().slice(0, 10)}: ${cpus().length} × ${model}, ${Math.round(totalmem() / 2 ** 30)} GiB, ` +
      `Linux ${release()}, Node ${process.versions.node}; ${rounds} rounds of ${seconds} s.`,
    `Beside: ${versions.join(', ')}.`,
  ].join('\n\n');
}

function table(head, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function show(value) {
  if (value >= 100) return Math.round(value).toLocaleString('en');
  return value.toFixed(value >= 10 ? 1 : 2);
}

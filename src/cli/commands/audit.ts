// `parley audit …`: what was called, refused and allowed, and whether the record of it is whole.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { ParleyError } from '../../errors.ts';
import { oneLine } from '../../host/index.ts';
import { isObject } from '../../jsonrpc/index.ts';
import { auditRecords, verifyAudit, type AuditHead, type AuditRecord, type ChainFault } from '../../store/index.ts';
import { exitCode } from '../exit.ts';
import { columns, toJson } from '../output.ts';
import type { Run } from '../run.ts';
import type { Workspace } from '../workspace.ts';
import { withStore } from './approvals.ts';

const FAULTS: Readonly<Record<ChainFault, string>> = {
  altered: 'it was changed after it was written',
  missing: 'another record stands in its place: it was taken out, or the order was changed',
  unlinked: 'it does not follow the record before it: one of the two was exchanged',
  cut: 'the record ends before it, and the sealed end says that it goes on',
  added: 'it stands behind the sealed end',
  rewritten: 'another record was there when its place was sealed',
  unsealed: 'the end is not sealed with the key of this user',
};

export function addAuditCommands(program: Command, run: Run): void {
  const audit = program.command('audit').description('See what was called, refused and allowed, and check the record of it');

  audit
    .command('tail')
    .description('Show the last records')
    .option('-n, --lines <count>', 'how many', '20')
    .action(run((workspace, _words, options: { lines: string }) => tail(workspace, options.lines)));

  audit
    .command('verify')
    .description('Check the whole record; exit code 2 when something is wrong, and it says where')
    .option('--anchor <file>', 'an end that was kept somewhere else, as `audit head` prints it')
    .action(run((workspace, _words, options: { anchor?: string }) => verify(workspace, options.anchor)));

  audit
    .command('head')
    .description('Print the sealed end of the record, to be kept somewhere else')
    .action(run((workspace) => head(workspace)));

  audit
    .command('export')
    .description('Print all records to standard output')
    .option('--format <form>', 'jsonl or csv', 'jsonl')
    .action(run((workspace, _words, options: { format: string }) => exportAll(workspace, options.format)));
}

function tail(workspace: Workspace, lines: string): Promise<number> {
  const count = Number(lines);
  if (!Number.isInteger(count) || count < 1) throw new ParleyError('usage', `"${lines}" is no number of records.`);
  return withStore(workspace, async (store) => {
    const records = await store.audit.tail(count);
    workspace.printer.result({
      json: { records },
      text: () => (records.length === 0 ? 'Nothing is written down yet.' : columns(rows(records))),
      ndjson: () => records,
    });
    return exitCode.ok;
  });
}

function rows(records: readonly AuditRecord[]): string[][] {
  const text = (value: unknown) => (typeof value === 'string' ? oneLine(value, 160) : '');
  const names = ({ server, serverName, tool }: AuditRecord['body']) =>
    [server ?? serverName, tool]
      .map(text)
      .filter((part) => part !== '')
      .join('/');
  // How a call ended is written with its id alone.
  const called = new Map<unknown, string>(
    records.map(({ body }) => [names(body) === '' ? undefined : body['call'], names(body)]),
  );
  return records.map(({ seq, at, kind, body }) => {
    const { because, outcome, state, by, why, call, approval } = body;
    const what = names(body) || called.get(call) || text(call ?? approval);
    const said = [state, outcome, because ?? why, typeof by === 'string' ? `by ${by}` : '']
      .map(text)
      .filter((part) => part !== '');
    return [String(seq), new Date(at).toISOString(), kind, what, said.join(', ')];
  });
}

function verify(workspace: Workspace, anchorFile: string | undefined): Promise<number> {
  const { printer, state, io } = workspace;
  const anchor = anchorFile === undefined ? undefined : readAnchor(resolve(io.cwd, anchorFile));
  return withStore(workspace, async (store) => {
    const verdict = await verifyAudit(store.audit, state.key(), { signal: io.signal, ...(anchor && { anchor }) });
    printer.result({
      json: verdict.ok ? { ok: true, records: verdict.count } : { ok: false, record: verdict.seq, fault: verdict.fault },
      text: () =>
        verdict.ok
          ? `The record is whole: ${verdict.count} entries in ${oneLine(state.where, 200)}.`
          : `Record ${verdict.seq} is bad: ${FAULTS[verdict.fault]}.`,
    });
    return verdict.ok ? exitCode.ok : exitCode.negative;
  });
}

function readAnchor(file: string): AuditHead {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    const { seq, hash, seal } = isObject(value) ? value : {};
    if (typeof seq === 'number' && typeof hash === 'string' && typeof seal === 'string') return { seq, hash, seal };
  } catch {
    // Said below.
  }
  throw new ParleyError('usage', `${file} holds no end of a record. Make one with \`parley audit head --json\`.`);
}

function head(workspace: Workspace): Promise<number> {
  return withStore(workspace, async (store) => {
    const end = await store.audit.head();
    if (end === undefined) throw new ParleyError('not-found', 'Nothing is written down yet.');
    workspace.printer.result({ json: end, text: () => toJson(end) });
    return exitCode.ok;
  });
}

function exportAll(workspace: Workspace, format: string): Promise<number> {
  const { io } = workspace;
  if (format !== 'jsonl' && format !== 'csv') throw new ParleyError('usage', `--format is jsonl or csv, not "${format}".`);
  return withStore(workspace, async (store) => {
    if (format === 'csv') await write(io.stdout, 'seq,at,kind,body,previous,hash');
    for await (const record of auditRecords(store.audit, { signal: io.signal })) {
      const { seq, at, kind, body, previous, hash } = record;
      const cells = [String(seq), new Date(at).toISOString(), kind, toJson(body), previous, hash];
      await write(io.stdout, format === 'csv' ? cells.map(cell).join(',') : toJson(record));
    }
    return exitCode.ok;
  });
}

/** Waits for a reader that is slower than the record is long. */
async function write(out: NodeJS.WriteStream, line: string): Promise<void> {
  if (!out.write(`${line}\n`)) await new Promise<void>((goOn) => out.once('drain', goOn));
}

/** RFC 4180, and nothing that a spreadsheet takes for a formula. */
function cell(text: string): string {
  const safe = /^[=+@\t\r-]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

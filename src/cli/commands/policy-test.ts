// `parley policy test`: what an edited policy would have said of the calls that were made. Nothing is called.
import { resolve } from 'node:path';
import { ParleyError } from '../../errors.ts';
import { formatDiagnostic, loadConfig, oneLine, replay, type Replayed } from '../../host/index.ts';
import { exitCode } from '../exit.ts';
import { columns } from '../output.ts';
import { decisionAsJson, isAboutRules, policyOf } from '../policy.ts';
import type { Workspace } from '../workspace.ts';
import { withStore } from './approvals.ts';

export interface PolicyTestOptions {
  readonly policy: string;
  readonly limit: string;
}

/** Prints each call that would be decided otherwise, and those of which too little was kept. Exit code 2 for a broken policy. */
export async function testPolicy(workspace: Workspace, options: PolicyTestOptions): Promise<number> {
  const { config, io, printer } = workspace;
  const limit = Number(options.limit);
  if (!Number.isSafeInteger(limit) || limit < 1) throw new ParleyError('usage', `"${options.limit}" is no number of calls.`);
  const file = resolve(io.cwd, options.policy);
  const edited = loadConfig({ cwd: io.cwd, env: io.env, home: io.home, configFile: file });
  // The servers are those of now: what is tried is the rules.
  const after = policyOf(workspace, { ...config, rules: edited.config.rules });
  if (after.problems.length > 0) {
    const said = edited.diagnostics.filter(isAboutRules).map(formatDiagnostic);
    printer.error('config-invalid', [`The rules of ${options.policy} are not tried:`, ...said, ...after.problems].join('\n'));
    return exitCode.negative;
  }
  const records = await withStore(workspace, ({ journal }) => journal.list({ limit }));
  const replayed = replay(records, policyOf(workspace), after);
  const changed = replayed.filter(({ before, after: then }) => before.verdict !== then.verdict);
  const unsure = replayed.filter(({ unknown }) => unknown.length > 0);
  printer.result({
    json: { calls: replayed.length, changed: changed.map(asJson), unknown: unsure.map(asJson) },
    text: () =>
      [
        ...(changed.length > 0 ? [columns(changed.map(rowOf))] : []),
        `${replayed.length} ${replayed.length === 1 ? 'call' : 'calls'}, ${changed.length} decided otherwise.`,
        ...unsure.map(sayUnknown),
      ].join('\n'),
  });
  return exitCode.ok;
}

function rowOf({ record, before, after }: Replayed): readonly string[] {
  return [
    new Date(record.at).toISOString(),
    nameOf(record),
    `${before.verdict} → ${after.verdict}`,
    oneLine(JSON.stringify(record.args), 80),
    oneLine(after.because, 160),
  ];
}

function sayUnknown({ record, unknown }: Replayed): string {
  const what = unknown.map((path) => (path === '' ? 'its arguments' : oneLine(path, 80))).join(', ');
  return `Not known of ${nameOf(record)} (${record.id}): a rule looks at ${what}, of which a digest alone was kept.`;
}

function nameOf({ serverName, tool }: Replayed['record']): string {
  return `${oneLine(serverName, 64)}/${oneLine(tool, 128)}`;
}

function asJson({ record, before, after, unknown }: Replayed) {
  const { id, at, serverName: server, tool, args } = record;
  return { id, at, server, tool, args, before: decisionAsJson(before), after: decisionAsJson(after), unknown };
}

// What another policy would have said of calls that were made: decided again on what the journal kept of them. Nothing is called.
import type { JsonObject } from '../../jsonrpc/index.ts';
import { isObject } from '../../jsonrpc/index.ts';
import type { Tool } from '../../protocol/index.ts';
import type { JournalRecord } from '../../store/index.ts';
import { createIntent } from '../approval/index.ts';
import type { TaintMark } from '../trust/index.ts';
import { decide, subjectOf, type CallQuestion, type Decision } from './decide.ts';
import type { RuleSet } from './rules.ts';

export interface Replayed {
  readonly record: JournalRecord;
  readonly before: Decision;
  readonly after: Decision;
  /**
   * Arguments that were not kept as they were, and that a rule of one of the policies looks at: what the decisions would have been
   * with them is not known. JSON pointers, '' for all arguments.
   */
  readonly unknown: readonly string[];
}

/** Decides each call by both policies, on the facts of its time. What somebody allowed by hand plays no part. */
export function replay(records: readonly JournalRecord[], before: RuleSet, after: RuleSet): readonly Replayed[] {
  return records.map((record) => {
    const question = questionOf(record, before);
    const redacted = redactedIn(record.args);
    const subject = subjectOf(question);
    const rules = [...before.rules, ...after.rules];
    const unknown = redacted.filter((path) => rules.some((rule) => rule.dependsOn(subject, path)));
    return {
      record,
      before: decide(question),
      after: decide({ ...question, rules: after }),
      unknown: unknown.map((path) => path.map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')),
    };
  });
}

function questionOf(record: JournalRecord, rules: RuleSet): CallQuestion {
  const { serverName, tool, args, facts, principal, run, route } = record;
  const { annotations, trusted, reviewed, taint } = facts;
  const definition = { name: tool, inputSchema: {}, ...(isObject(annotations) && { annotations }) } as Tool;
  const marks = (Array.isArray(taint) ? taint : []) as readonly TaintMark[];
  return {
    type: 'call',
    intent: createIntent({ server: serverName, tool: definition, args, principal, run, route, taint: marks }),
    server: { trusted: trusted === true, reviewedTools: reviewed === true ? [tool] : [] },
    grants: [],
    rules,
  };
}

/** Where a digest stands in the place of what was there. */
function redactedIn(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [];
  if (isRedacted(value as JsonObject)) return [path];
  return Object.entries(value).flatMap(([name, member]) => redactedIn(member, [...path, name]));
}

function isRedacted(value: JsonObject): boolean {
  return typeof value['redacted'] === 'string' && typeof value['bytes'] === 'number' && Object.keys(value).length === 2;
}

// The one place that decides what may happen. A pure function: it asks nobody, remembers nothing, and reads nothing but, where a rule
// has `under`, where a path leads.
import { grantCovers, type ApprovalScope, type CallIntent, type Grant } from '../approval/index.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { ServerSettings } from '../config/index.ts';
import { isKeptFrom, oneLine, taintFor, type TaintMark } from '../trust/index.ts';
import { placeOf, type Effect, type Rule, type RuleSet, type Subject } from './rules.ts';

/** May this call be made? */
export interface CallQuestion {
  readonly type: 'call';
  readonly intent: CallIntent;
  /** What the user said about the server. */
  readonly server: Pick<ServerSettings, 'trusted' | 'reviewedTools'>;
  /** What changed in the tool since it was allowed before, so that somebody has to allow it again; absent when nothing did. */
  readonly changed?: string;
  readonly rules: RuleSet;
  /** What was allowed beyond one call. */
  readonly grants: readonly Grant[];
}

/** May this resource or prompt be read? */
export interface ReadQuestion {
  readonly type: 'read';
  readonly kind: 'resource' | 'prompt';
  /** The configured server's name. */
  readonly server: string;
  /** The resource's URI, or the prompt's name. */
  readonly name: string;
  /** A prompt's arguments. */
  readonly args?: JsonObject;
  readonly principal: string;
  readonly route: string;
  readonly taint: readonly TaintMark[];
  readonly rules: RuleSet;
}

export type Question = CallQuestion | ReadQuestion;

/** `because` is for people, never for a model. `widest` is what an approval may cover at most. */
export type Decision =
  | { readonly verdict: 'allow' | 'deny'; readonly because: string; readonly rule?: Rule }
  | { readonly verdict: 'ask'; readonly because: string; readonly rule?: Rule; readonly widest: ApprovalScope };

/**
 * The answer to a question. A policy with a problem denies everything. Else, for calls: rules that deny, in whatever order and file
 * they stand; then what the run has read, which asks in spite of any grant; then rules that ask, a tool that changed, rules that
 * allow, and what was allowed before; then what a trusted server says of its tool, or the user's list of reviewed tools; else ask.
 * Resources and prompts are free where no rule holds them back.
 */
export function decide(question: Question): Decision {
  const [problem] = question.rules.problems;
  if (problem !== undefined) {
    return { verdict: 'deny', because: `The permission rules are broken, and one of them may deny this. ${problem}` };
  }
  return question.type === 'call' ? decideCall(question) : decideRead(question);
}

/** The rules that are about what is asked, those that deny first. A project's rules that allow are not among them. */
export function matchingRules(question: Question): readonly Rule[] {
  const subject = subjectOf(question);
  return question.rules.rules.filter((rule) => isAbout(rule, subject));
}

/** What the rules are held against. */
export function subjectOf(question: Question): Subject {
  return question.type === 'call' ? subjectOfCall(question) : subjectOfRead(question);
}

/** True when the call does no harm when it is made twice: a rule says so, or a trusted server says so of its tool. */
export function mayRepeat(question: CallQuestion): boolean {
  const subject = subjectOfCall(question);
  if (subject.hints?.readOnlyHint === true || subject.hints?.idempotentHint === true) return true;
  return question.rules.problems.length === 0 && question.rules.repeatable.some((rule) => isAbout(rule, subject));
}

function subjectOfCall({ intent, server }: CallQuestion): Subject {
  const { tool, args, definition, principal, route } = intent;
  return {
    kind: 'tool',
    server: intent.server,
    name: tool,
    args,
    // An object also where a trusted server says nothing: that too means something.
    hints: server.trusted ? (definition.annotations ?? {}) : undefined,
    principal,
    route,
    taint: intent.taint,
  };
}

function subjectOfRead({ kind, server, name, args = {}, principal, route, taint }: ReadQuestion): Subject {
  return { kind, server, name, args: kind === 'resource' ? { uri: name } : args, hints: undefined, principal, route, taint };
}

function decideCall(question: CallQuestion): Decision {
  const { intent, server, grants } = question;
  const byRules = decideByRules(question, subjectOfCall(question));
  if (byRules !== undefined) return byRules;
  if (grants.some((grant) => grantCovers(grant, intent))) {
    return { verdict: 'allow', because: 'You allowed this tool for this run.' };
  }
  return server.trusted ? byHints(intent) : byReview(intent, server.reviewedTools);
}

function decideRead(question: ReadQuestion): Decision {
  const because = `Reading a ${question.kind} is free where no rule holds it back.`;
  return decideByRules(question, subjectOfRead(question)) ?? { verdict: 'allow', because };
}

/** What rules and taint say; undefined when they say nothing. */
function decideByRules(question: Question, subject: Subject): Decision | undefined {
  const first: Record<Effect, Rule | undefined> = { deny: undefined, ask: undefined, allow: undefined };
  let evenTainted = false;
  for (const rule of question.rules.rules) {
    if (!isAbout(rule, subject)) continue;
    first[rule.effect] ??= rule;
    evenTainted ||= rule.evenTainted;
  }
  if (first.deny !== undefined) return byRule(first.deny);
  const taint = evenTainted ? undefined : byTaint(subject);
  if (taint !== undefined) return taint;
  if (first.ask !== undefined) return byRule(first.ask);
  if ('changed' in question) return { verdict: 'ask', because: question.changed, widest: 'run' };
  return first.allow === undefined ? undefined : byRule(first.allow);
}

/** True for a rule that counts here: a project may forbid and ask, but never allow its own calls. */
function isAbout(rule: Rule, subject: Subject): boolean {
  return (rule.effect !== 'allow' || rule.source.scope !== 'project') && rule.matches(subject);
}

/** What each rule says: the same whenever it is asked. */
const decisions = new WeakMap<Rule, Decision>();

function byRule(rule: Rule): Decision {
  const known = decisions.get(rule);
  if (known !== undefined) return known;
  const { effect, text, source } = rule;
  const because = `The rule ${effect} ${text} says so (${placeOf(source)}).`;
  // A grant would not count against an ask rule, so none is offered.
  const decision: Decision =
    effect === 'ask' ? { verdict: effect, because, rule, widest: 'once' } : { verdict: effect, because, rule };
  decisions.set(rule, decision);
  return decision;
}

/**
 * Who read what anybody may have written may have been told what to do by it. Such a run asks before it sends private data
 * anywhere, or destroys anything.
 */
function byTaint(subject: Subject): Decision | undefined {
  const { taint, server } = subject;
  const isPossible = taint.some(({ untrusted }) => untrusted) && taint.some((mark) => isKeptFrom(mark, server));
  if (!isPossible || !canHarm(subject)) return undefined;
  const { untrusted, private: secret } = taintFor(taint, server);
  const because =
    `This run has read what anybody may have written (${sourcesOf(untrusted)}), and what "${server}" must not get ` +
    `unasked (${sourcesOf(secret)}). This call can send data out or destroy something.`;
  return { verdict: 'ask', because, widest: 'once' };
}

/** Of one line. */
const SAID_SOURCES = 4;

function sourcesOf(marks: readonly TaintMark[]): string {
  const said = marks.slice(0, SAID_SOURCES).map(({ server, from }) => `${server}/${oneLine(from, 64)}`);
  return [...said, ...(marks.length > SAID_SOURCES ? [`${marks.length - SAID_SOURCES} more`] : [])].join(', ');
}

/** What is not known to stay at home and to destroy nothing may do both. */
function canHarm({ hints }: Subject): boolean {
  if (hints?.openWorldHint !== false) return true;
  return hints.readOnlyHint !== true && hints.destructiveHint !== false;
}

/** On a trusted server the hints count; the specification takes a tool for destructive unless it says that it is not. */
function byHints({ definition: { annotations } }: CallIntent): Decision {
  if (annotations?.readOnlyHint === true) {
    return { verdict: 'allow', because: 'The server is trusted and says that the tool only reads.' };
  }
  if (annotations?.destructiveHint === false) {
    return { verdict: 'allow', because: 'The server is trusted and says that the tool destroys nothing.' };
  }
  return {
    verdict: 'ask',
    because: 'The server is trusted, and does not say that the tool is harmless.',
    widest: 'run',
  };
}

function byReview({ tool }: CallIntent, reviewed: readonly string[]): Decision {
  return reviewed.includes(tool)
    ? { verdict: 'allow', because: 'The tool is on your list of reviewed tools.' }
    : { verdict: 'ask', because: 'No rule covers the tool, and it is not on your list of reviewed tools.', widest: 'run' };
}

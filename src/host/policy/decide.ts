// The one place that decides what may happen. A pure function: it reads nothing, asks nobody and remembers nothing.
import { grantCovers, type ApprovalScope, type CallIntent, type Grant } from '../approval/index.ts';
import type { ServerSettings } from '../config/index.ts';
import { placeOf, ruleMatches, type Effect, type Rule, type RuleSet } from './rules.ts';

/** May this call be made? */
export interface CallQuestion {
  readonly type: 'call';
  readonly intent: CallIntent;
  /** What the user said about the server. */
  readonly server: Pick<ServerSettings, 'trusted' | 'reviewedTools'>;
  readonly rules: RuleSet;
  /** What was allowed for this run. */
  readonly grants: readonly Grant[];
}

/** May a server have this from the client? Rules name tools, so that an allowed `server/*` opens none of these. */
export interface InputQuestion {
  readonly type: 'input';
  readonly kind: 'elicitation' | 'sampling' | 'roots';
  /** The configured server's name. */
  readonly server: string;
  /** What the user set for this kind of input from this server. */
  readonly setting?: Effect;
  readonly rules: RuleSet;
}

export type Question = CallQuestion | InputQuestion;

/** `because` is for people, never for a model. `widest` is what an approval may cover at most. */
export type Decision =
  | { readonly verdict: 'allow' | 'deny'; readonly because: string; readonly rule?: Rule }
  | { readonly verdict: 'ask'; readonly because: string; readonly rule?: Rule; readonly widest: ApprovalScope };

/**
 * The answer to a question. For calls: rules first, in whatever order and file they stand, deny before ask before allow; then
 * what was allowed for this run; then what a trusted server says of its tool, or the user's list of reviewed tools; else ask.
 */
export function decide(question: Question): Decision {
  if (!question.rules.complete) {
    return {
      verdict: 'deny',
      because: 'Some permission rules cannot be read, and one of them may deny this. Correct them first.',
    };
  }
  switch (question.type) {
    case 'call':
      return decideCall(question);
    case 'input':
      return decideInput(question);
  }
}

function decideCall({ intent, server, rules: { rules }, grants }: CallQuestion): Decision {
  const matching = rules.filter((rule) => mayCount(rule) && ruleMatches(rule, intent));
  for (const effect of ['deny', 'ask', 'allow'] as const) {
    const rule = matching.find((candidate) => candidate.effect === effect);
    if (rule !== undefined) return byRule(rule);
  }
  if (grants.some((grant) => grantCovers(grant, intent))) {
    return { verdict: 'allow', because: 'You allowed this tool for this run.' };
  }
  return server.trusted ? byHints(intent) : byReview(intent, server.reviewedTools);
}

/** A project may forbid and ask, but never allow its own calls. */
function mayCount(rule: Rule): boolean {
  return rule.effect !== 'allow' || rule.source.scope !== 'project';
}

function byRule(rule: Rule): Decision {
  const { effect, text, source } = rule;
  const because = `The rule ${effect} ${text} says so (${placeOf(source)}).`;
  // A grant would not count against an ask rule, so none is offered.
  return effect === 'ask' ? { verdict: effect, because, rule, widest: 'once' } : { verdict: effect, because, rule };
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

/** What holds where the user set nothing. Elicitation is answered by the person who is asked, so it harms nobody to ask. */
const INPUT_DEFAULT = { elicitation: 'ask', sampling: 'deny', roots: 'allow' } as const satisfies Record<
  InputQuestion['kind'],
  Effect
>;

const INPUT_WORDS = {
  elicitation: 'questions to you',
  sampling: 'use of your model',
  roots: 'the roots you configured, and no others',
} as const;

function decideInput({ kind, server, setting }: InputQuestion): Decision {
  const verdict = setting ?? INPUT_DEFAULT[kind];
  const who = setting === undefined ? 'By default' : 'By your settings';
  const because = `${who} the answer to server "${server}" is "${verdict}" for ${INPUT_WORDS[kind]}.`;
  return verdict === 'ask' ? { verdict, because, widest: 'once' } : { verdict, because };
}

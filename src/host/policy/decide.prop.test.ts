import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createIntent, grantFor, subjectOf } from '../approval/index.ts';
import type { Scope } from '../config/index.ts';
import type { TaintMark } from '../trust/index.ts';
import { decide, matchingRules, type CallQuestion } from './decide.ts';
import { rule as ruleFor, ruleSet } from './fixtures/world.ts';
import type { Effect, Rule } from './rules.ts';

const STRENGTH = { allow: 0, ask: 1, deny: 2 } as const;

const name = fc.constantFrom('a', 'ab', 'b');
const glob = fc.constantFrom('a', 'ab', 'b', '*', 'a*', '?', '*b');
const argument = fc.constantFrom('', '(x: 1)', '(x: y*)', '(x: "y")', '(z: true)', '(x: 0..5 | y, z: true)', '(x: matches /y+/)');
const effect = fc.constantFrom<Effect>('allow', 'ask', 'deny');
const scope = fc.constantFrom<Scope>('flag', 'local', 'project', 'user');
const anyTail = ['', ' when read-only', ' when not destructive', ' when open-world', ' when route run', ' when not principal p'];
const tails = {
  allow: fc.constantFrom(...anyTail, ' when not tainted', ' when not private and route run', ' even when tainted'),
  ask: fc.constantFrom(...anyTail, ' when tainted', ' when private and tainted'),
  deny: fc.constantFrom(...anyTail, ' when tainted', ' when private'),
} as const;

const ruleOf = (effects: fc.Arbitrary<Effect>): fc.Arbitrary<Rule> =>
  effects.chain((which) =>
    fc
      .tuple(glob, glob, argument, tails[which], scope)
      .map(([server, tool, arg, tail, from]) => ruleFor(which, `${server}/${tool}${arg}${tail}`, from)),
  );

const rules = fc.array(ruleOf(effect), { maxLength: 8 });

const mark: fc.Arbitrary<TaintMark> = fc.record({
  server: name,
  from: name,
  untrusted: fc.boolean(),
  private: fc.constantFrom('to-all', 'to-others', 'no'),
  digest: fc.constant('d'),
});

/** What a question is made of, so that one part of it can be changed. */
const parts = fc.record({
  server: name,
  tool: name,
  args: fc.record({ x: fc.constantFrom<unknown>(1, 'y', 'yy', null), z: fc.boolean() }, { requiredKeys: [] }),
  annotations: fc.record(
    { readOnlyHint: fc.boolean(), destructiveHint: fc.boolean(), openWorldHint: fc.boolean() },
    { requiredKeys: [] },
  ),
  route: fc.constantFrom('run', 'call'),
  principal: fc.constantFrom('p', 'q'),
  taint: fc.array(mark, { maxLength: 3 }),
  trusted: fc.boolean(),
  reviewedTools: fc.array(name, { maxLength: 2 }),
  granted: fc.boolean(),
  rules,
});

type Parts = typeof parts extends fc.Arbitrary<infer P> ? P : never;

function toQuestion({
  server,
  tool,
  args,
  annotations,
  trusted,
  reviewedTools,
  granted,
  rules: list,
  ...rest
}: Parts): CallQuestion {
  const build = (taint: readonly TaintMark[]) =>
    createIntent({ ...rest, server, tool: { name: tool, inputSchema: {}, annotations }, args, taint });
  const intent = build(rest.taint);
  const given = { by: 'somebody', channel: 'test', at: 0 };
  const grants = granted ? [grantFor(subjectOf(intent), { type: 'run' }, given)] : [];
  return { type: 'call', intent, server: { trusted, reviewedTools }, grants, rules: ruleSet(...list) };
}

const call = parts.map(toQuestion);

const verdict = (question: CallQuestion, list: readonly Rule[] = question.rules.rules) =>
  decide({ ...question, rules: { ...question.rules, rules: list } }).verdict;

/** The rules of an effect that are about the call, whoever wrote them. */
const about = (question: CallQuestion, which: Effect) => matchingRules(question).filter(({ effect: its }) => its === which);

it('denies whatever a deny rule covers', () => {
  fc.assert(
    fc.property(call, (question) => {
      expect(verdict(question) === 'deny').toBe(about(question, 'deny').length > 0);
    }),
  );
});

it('does not depend on the order of the rules', () => {
  fc.assert(
    fc.property(
      call.chain((question) =>
        fc.tuple(
          fc.constant(question),
          fc.shuffledSubarray([...question.rules.rules], { minLength: question.rules.rules.length }),
        ),
      ),
      ([question, shuffled]) => {
        expect(verdict(question, shuffled)).toBe(verdict(question));
      },
    ),
  );
});

it('is never loosened by one more rule that denies', () => {
  fc.assert(
    fc.property(call, ruleOf(fc.constant('deny')), (question, rule) => {
      const more = verdict(question, [rule, ...question.rules.rules]);
      expect(STRENGTH[more]).toBeGreaterThanOrEqual(STRENGTH[verdict(question)]);
    }),
  );
});

it('is never loosened by one more rule that asks', () => {
  fc.assert(
    fc.property(call, ruleOf(fc.constant('ask')), (question, rule) => {
      const more = verdict(question, [rule, ...question.rules.rules]);
      expect(STRENGTH[more]).toBeGreaterThanOrEqual(STRENGTH[verdict(question)]);
    }),
  );
});

it('is never tightened by one more rule that allows, and never loosened by a project’s', () => {
  fc.assert(
    fc.property(call, ruleOf(fc.constant('allow')), (question, rule) => {
      const before = verdict(question);
      const after = verdict(question, [rule, ...question.rules.rules]);
      if (rule.source.scope === 'project') expect(after).toBe(before);
      else expect(STRENGTH[after]).toBeLessThanOrEqual(STRENGTH[before]);
    }),
  );
});

it('allows nothing that neither a rule, a grant, a trusted server’s hint nor the list of reviewed tools covers', () => {
  fc.assert(
    fc.property(call, (question) => {
      const { intent, server, grants } = question;
      fc.pre(grants.length === 0 && !server.trusted && !server.reviewedTools.includes(intent.tool));
      const allowed = about(question, 'allow').length > 0;
      if (!allowed) expect(verdict(question)).not.toBe('allow');
    }),
  );
});

it('is never loosened by one more thing that the run has read', () => {
  fc.assert(
    fc.property(parts, mark, fc.nat(3), (given, more, at) => {
      const before = decide(toQuestion(given)).verdict;
      const taint = [...given.taint.slice(0, at), more, ...given.taint.slice(at)];
      expect(STRENGTH[decide(toQuestion({ ...given, taint })).verdict]).toBeGreaterThanOrEqual(STRENGTH[before]);
    }),
    { numRuns: 500 },
  );
});

it('does not depend on the order in which the run has read', () => {
  fc.assert(
    fc.property(parts, (given) => {
      const turned = { ...given, taint: [...given.taint].reverse() };
      expect(decide(toQuestion(turned)).verdict).toBe(decide(toQuestion(given)).verdict);
    }),
  );
});

it('asks at least, whatever was granted or reviewed, when the run has read both and no rule allows it all the same', () => {
  fc.assert(
    fc.property(parts, (given) => {
      const both: TaintMark = { server: 'elsewhere', from: 'x', untrusted: true, private: 'to-others', digest: 'd' };
      const question = toQuestion({ ...given, trusted: false, taint: [both] });
      fc.pre(!about(question, 'allow').some(({ evenTainted }) => evenTainted));
      expect(decide(question).verdict).not.toBe('allow');
    }),
  );
});

it('is only ever tightened by all that a project says', () => {
  fc.assert(
    fc.property(parts, (given) => {
      const question = toQuestion(given);
      const own = question.rules.rules.filter(({ source }) => source.scope !== 'project');
      expect(STRENGTH[verdict(question)]).toBeGreaterThanOrEqual(STRENGTH[verdict(question, own)]);
    }),
  );
});

it('denies everything while the policy has a problem', () => {
  fc.assert(
    fc.property(call, (question) => {
      expect(decide({ ...question, rules: { ...question.rules, problems: ['x'] } }).verdict).toBe('deny');
    }),
  );
});

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createGrants, createIntent } from '../approval/index.ts';
import type { Scope } from '../config/index.ts';
import { decide, type CallQuestion } from './decide.ts';
import { parseRule, ruleMatches, type Effect, type Rule } from './rules.ts';

const STRENGTH = { allow: 0, ask: 1, deny: 2 } as const;

const name = fc.constantFrom('a', 'ab', 'b');
const glob = fc.constantFrom('a', 'ab', 'b', '*', 'a*', '?', '*b');
const argument = fc.constantFrom('', '(x: 1)', '(x: y*)', '(x: "y")', '(z: true)');
const effect = fc.constantFrom<Effect>('allow', 'ask', 'deny');
const scope = fc.constantFrom<Scope>('flag', 'local', 'project', 'user');

const ruleOf = (effects: fc.Arbitrary<Effect>): fc.Arbitrary<Rule> =>
  fc
    .tuple(effects, glob, glob, argument, scope)
    .map(([which, server, tool, arg, from]) => parseRule(which, `${server}/${tool}${arg}`, { file: 'f', key: '', scope: from }));

const rules = fc.array(ruleOf(effect), { maxLength: 8 });

const call: fc.Arbitrary<CallQuestion> = fc
  .record({
    server: name,
    tool: name,
    args: fc.record({ x: fc.constantFrom<unknown>(1, 'y', 'yy', null), z: fc.boolean() }, { requiredKeys: [] }),
    annotations: fc.record({ readOnlyHint: fc.boolean(), destructiveHint: fc.boolean() }, { requiredKeys: [] }),
    trusted: fc.boolean(),
    reviewedTools: fc.array(name, { maxLength: 2 }),
    granted: fc.boolean(),
    rules,
  })
  .map(({ server, tool, args, annotations, trusted, reviewedTools, granted, rules: list }) => {
    const intent = createIntent({ server, tool: { name: tool, inputSchema: {}, annotations }, args });
    const grants = createGrants();
    if (granted) grants.add(intent);
    const question = { type: 'call', intent, server: { trusted, reviewedTools }, grants: grants.list } as const;
    return { ...question, rules: { rules: list, complete: true } };
  });

const verdict = (question: CallQuestion, list: readonly Rule[] = question.rules.rules) =>
  decide({ ...question, rules: { ...question.rules, rules: list } }).verdict;

it('denies whatever a deny rule covers', () => {
  fc.assert(
    fc.property(call, (question) => {
      const covered = question.rules.rules.some((rule) => rule.effect === 'deny' && ruleMatches(rule, question.intent));
      expect(verdict(question) === 'deny').toBe(covered);
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
      const allowed = question.rules.rules.some(
        (rule) => rule.effect === 'allow' && rule.source.scope !== 'project' && ruleMatches(rule, intent),
      );
      if (!allowed) expect(verdict(question)).not.toBe('allow');
    }),
  );
});

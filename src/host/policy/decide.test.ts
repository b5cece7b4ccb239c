import { describe, expect, it } from 'vitest';
import type { ToolAnnotations } from '../../protocol/index.ts';
import { createIntent, grantFor, subjectOf } from '../approval/index.ts';
import type { Scope } from '../config/index.ts';
import type { TaintMark } from '../trust/index.ts';
import { decide, matchingRules, mayRepeat, type CallQuestion, type ReadQuestion } from './decide.ts';
import { rule, ruleSet } from './fixtures/world.ts';
import type { Effect, RuleSet } from './rules.ts';

const NO_RULES = ruleSet();
const BROKEN: RuleSet = { ...ruleSet(rule('allow', '*/*')), problems: ['The deny rule "x" (parley.jsonc) has no "/".'] };

function rules(...written: readonly [effect: Effect, text: string, scope?: Scope][]): RuleSet {
  return ruleSet(...written.map(([effect, text, scope]) => rule(effect, text, scope)));
}

function call(
  of: { annotations?: ToolAnnotations; description?: string; taint?: readonly TaintMark[] } & Partial<
    Omit<CallQuestion, 'type' | 'intent'>
  > = {},
): CallQuestion {
  const { annotations, description = '', taint = [], ...rest } = of;
  const tool = { name: 'write', description, inputSchema: { type: 'object' }, ...(annotations !== undefined && { annotations }) };
  const intent = createIntent({ server: 'files', tool, args: { path: '/srv/x' }, taint });
  return { type: 'call', intent, server: { trusted: false, reviewedTools: [] }, rules: NO_RULES, grants: [], ...rest };
}

const untrusted = { trusted: false, reviewedTools: [] };
const trusted = { trusted: true, reviewedTools: [] };
const reviewed = { trusted: false, reviewedTools: ['read', 'write'] };

describe('a call without rules', () => {
  it.each<[string, CallQuestion['server'], ToolAnnotations | undefined, Effect]>([
    ['an unknown server', untrusted, undefined, 'ask'],
    ['an unknown server that says read-only', untrusted, { readOnlyHint: true }, 'ask'],
    ['an unknown server that says harmless', untrusted, { destructiveHint: false }, 'ask'],
    ['a reviewed tool', reviewed, undefined, 'allow'],
    [
      'a tool that only looks like a reviewed one',
      { trusted: false, reviewedTools: ['Write', 'write*', 'writ'] },
      undefined,
      'ask',
    ],
    ['a trusted server that says nothing', trusted, undefined, 'ask'],
    ['a trusted server that says nothing of either', trusted, { title: 'x' }, 'ask'],
    ['a trusted server that says read-only', trusted, { readOnlyHint: true }, 'allow'],
    ['a trusted server that says it writes', trusted, { readOnlyHint: false }, 'ask'],
    ['a trusted server that says destructive', trusted, { destructiveHint: true }, 'ask'],
    ['a trusted server that says not destructive', trusted, { readOnlyHint: false, destructiveHint: false }, 'allow'],
    ['hints that are not booleans', trusted, { readOnlyHint: 'true', destructiveHint: 0 } as never, 'ask'],
  ])('to %s', (_, server, annotations, verdict) => {
    expect(decide(call({ server, ...(annotations !== undefined && { annotations }) })).verdict).toBe(verdict);
  });
});

describe('a call with rules', () => {
  it.each<[string, RuleSet, Effect]>([
    ['deny beats ask and allow', rules(['allow', 'files/write'], ['ask', 'files/*'], ['deny', '*/write']), 'deny'],
    ['ask beats allow, however exact', rules(['allow', 'files/write(path: "/srv/x")'], ['ask', '*/*']), 'ask'],
    ['allow beats the default', rules(['allow', 'files/*']), 'allow'],
    [
      'rules about others mean nothing',
      rules(['deny', 'file/write'], ['allow', 'other/*'], ['deny', 'files/write(path: /etc/*)']),
      'ask',
    ],
    ['a project denies', rules(['allow', '*/*'], ['deny', 'files/write', 'project']), 'deny'],
    ['a project asks', rules(['allow', '*/*'], ['ask', 'files/write', 'project']), 'ask'],
    ['a project does not allow', rules(['allow', '*/*', 'project']), 'ask'],
    ['private settings and flags allow', rules(['allow', '*/*', 'local'], ['allow', '*/*', 'flag']), 'allow'],
  ])('%s', (_, set, verdict) => {
    expect(decide(call({ rules: set })).verdict).toBe(verdict);
  });

  it('says which rule it was, and where it stands', () => {
    const set = rules(['deny', 'files/*', 'project']);
    expect(decide(call({ rules: set }))).toEqual({
      verdict: 'deny',
      because: 'The rule deny files/* says so (parley.jsonc).',
      rule: set.rules[0],
    });
  });

  it('is denied when the policy is broken, whatever the rules say, and says why', () => {
    const { verdict, because } = decide(call({ rules: BROKEN, server: trusted, annotations: { readOnlyHint: true } }));
    expect(verdict).toBe('deny');
    expect(because).toContain('The deny rule "x" (parley.jsonc) has no "/".');
  });

  it('is denied and asked on trusted servers and for reviewed tools too', () => {
    expect(decide(call({ server: trusted, annotations: { readOnlyHint: true }, rules: rules(['deny', '*/*']) })).verdict).toBe(
      'deny',
    );
    expect(decide(call({ server: reviewed, rules: rules(['ask', '*/*']) })).verdict).toBe('ask');
  });
});

describe('what was allowed for this run', () => {
  const grants = [grantFor(subjectOf(call().intent), { type: 'run' }, { by: 'somebody', channel: 'test', at: 0 })];

  it('allows the tool, and not another definition of it', () => {
    expect(decide(call({ grants }))).toEqual({ verdict: 'allow', because: 'You allowed this tool for this run.' });
    expect(decide(call({ grants, description: 'Changed.' })).verdict).toBe('ask');
    expect(decide(call({ grants, annotations: { readOnlyHint: true } })).verdict).toBe('ask');
  });

  it('is no match for a rule that denies or asks', () => {
    expect(decide(call({ grants, rules: rules(['deny', '*/*']) })).verdict).toBe('deny');
    expect(decide(call({ grants, rules: rules(['ask', '*/*']) })).verdict).toBe('ask');
  });

  it('is offered only where it would count', () => {
    expect(decide(call())).toMatchObject({ verdict: 'ask', widest: 'run' });
    expect(decide(call({ rules: rules(['ask', '*/*']) }))).toMatchObject({ verdict: 'ask', widest: 'once' });
  });
});

describe('a run that has read', () => {
  const web: TaintMark = { server: 'web', from: 'fetch', untrusted: true, private: 'no', digest: 'd1' };
  const notes: TaintMark = { server: 'notes', from: 'read', untrusted: false, private: 'to-others', digest: 'd2' };
  const harmless = { readOnlyHint: true, openWorldHint: false };
  const grants = [grantFor(subjectOf(call().intent), { type: 'run' }, { by: 'somebody', channel: 'test', at: 0 })];
  const allowed = { rules: rules(['allow', '*/*']) };

  it.each<[string, Parameters<typeof call>[0], Effect]>([
    ['nothing', { ...allowed }, 'allow'],
    ['what anybody wrote, and nothing private', { ...allowed, taint: [web] }, 'allow'],
    ['what is private, and nothing that others wrote', { ...allowed, taint: [notes] }, 'allow'],
    ['both', { ...allowed, taint: [web, notes] }, 'ask'],
    ['both, the other way round', { ...allowed, taint: [notes, web] }, 'ask'],
    ['both in one', { ...allowed, taint: [{ ...web, private: 'to-others' }] }, 'ask'],
    ['what came from the server itself', { ...allowed, taint: [{ ...web, server: 'files', private: 'to-others' }] }, 'allow'],
    ['what must not go back to its server', { ...allowed, taint: [{ ...web, server: 'files', private: 'to-all' }] }, 'ask'],
    ['both, and there is a rule that denies', { rules: rules(['deny', '*/*']), taint: [web, notes] }, 'deny'],
    ['both, and the tool is reviewed', { server: reviewed, taint: [web, notes] }, 'ask'],
    ['both, and a trusted tool stays at home', { server: trusted, annotations: harmless, taint: [web, notes] }, 'allow'],
    ['both, and an unknown tool says so', { ...allowed, annotations: harmless, taint: [web, notes] }, 'ask'],
    [
      'both, and a trusted tool only reads, but who knows from where',
      { server: trusted, annotations: { readOnlyHint: true }, taint: [web, notes] },
      'ask',
    ],
    [
      'both, and a trusted tool at home destroys',
      { ...allowed, server: trusted, annotations: { openWorldHint: false }, taint: [web, notes] },
      'ask',
    ],
    [
      'both, and the rule allows it all the same',
      { rules: rules(['allow', '*/* even when tainted']), taint: [web, notes] },
      'allow',
    ],
    [
      'both, and one rule asks where another allows it all the same',
      { rules: rules(['allow', '*/* even when tainted'], ['ask', '*/*']), taint: [web, notes] },
      'ask',
    ],
  ])('%s', (_, question, verdict) => {
    expect(decide(call(question)).verdict).toBe(verdict);
  });

  it('is asked in spite of what was allowed, once, and with where it comes from', () => {
    expect(decide(call({ grants })).verdict).toBe('allow');
    const decision = decide(call({ grants, taint: [web, notes] }));
    expect(decision).toMatchObject({ verdict: 'ask', widest: 'once' });
    expect(decision.because).toContain(
      'what anybody may have written (web/fetch), and what "files" must not get unasked (notes/read).',
    );
  });
});

describe('a resource or prompt', () => {
  const read = (more: Partial<ReadQuestion> = {}): ReadQuestion => ({
    type: 'read',
    kind: 'resource',
    server: 'files',
    name: 'file:///etc/passwd',
    principal: '',
    route: 'call',
    taint: [],
    rules: NO_RULES,
    ...more,
  });
  const web: TaintMark = { server: 'web', from: 'fetch', untrusted: true, private: 'to-others', digest: 'd' };

  it.each<[string, Partial<ReadQuestion>, Effect]>([
    ['no rule', {}, 'allow'],
    ['a rule that denies its server', { rules: rules(['deny', 'files/*']) }, 'deny'],
    ['a rule that denies the URI', { rules: rules(['deny', '*/resource:*(uri: under /etc)']) }, 'deny'],
    ['a rule that denies prompts', { rules: rules(['deny', '*/prompt:*']) }, 'allow'],
    ['a rule that asks', { rules: rules(['ask', 'files/resource:*']) }, 'ask'],
    [
      'a rule that denies a prompt’s argument',
      { kind: 'prompt', name: 'p', args: { a: 'x' }, rules: rules(['deny', 'files/prompt:p(a: x)']) },
      'deny',
    ],
    ['a broken policy', { rules: BROKEN }, 'deny'],
    ['what the run has read', { taint: [web] }, 'ask'],
  ])('with %s', (_, more, verdict) => {
    expect(decide(read(more)).verdict).toBe(verdict);
  });
});

describe('a call may be made twice', () => {
  const repeatable = (text: string): RuleSet => ({ ...NO_RULES, repeatable: [rule('allow', text)] });
  it.each<[string, Parameters<typeof call>[0], boolean]>([
    ['of nothing known', {}, false],
    ['of an unknown server that says so', { annotations: { idempotentHint: true } }, false],
    ['of a trusted server that says so', { server: trusted, annotations: { idempotentHint: true } }, true],
    ['of a trusted server that says that it only reads', { server: trusted, annotations: { readOnlyHint: true } }, true],
    ['that a rule names', { rules: repeatable('files/write(path: /srv/*)') }, true],
    ['that no rule names', { rules: repeatable('files/read') }, false],
    ['of a broken policy', { rules: { ...repeatable('*/*'), problems: ['x'] } }, false],
  ])('%s', (_, question, expected) => {
    expect(mayRepeat(call(question))).toBe(expected);
  });
});

it('the rules that match are told, those of a project that allow apart', () => {
  const set = rules(['deny', 'files/*'], ['allow', '*/*'], ['allow', 'files/write', 'project'], ['ask', 'other/*']);
  expect(matchingRules(call({ rules: set })).map(({ text }) => text)).toEqual(['files/*', '*/*']);
});

import { describe, expect, it } from 'vitest';
import type { ToolAnnotations } from '../../protocol/index.ts';
import { createGrants, createIntent } from '../approval/index.ts';
import type { Scope } from '../config/index.ts';
import { decide, type CallQuestion, type InputQuestion } from './decide.ts';
import { parseRule, type Effect, type RuleSet } from './rules.ts';

const NO_RULES: RuleSet = { rules: [], complete: true };

function rules(...written: readonly [effect: Effect, text: string, scope?: Scope][]): RuleSet {
  const rule = ([effect, text, scope = 'user']: (typeof written)[number]) =>
    parseRule(effect, text, { file: 'parley.jsonc', key: '', scope });
  return { rules: written.map(rule), complete: true };
}

function call(
  of: { annotations?: ToolAnnotations; description?: string } & Partial<Omit<CallQuestion, 'type' | 'intent'>> = {},
): CallQuestion {
  const { annotations, description = '', ...rest } = of;
  const tool = { name: 'write', description, inputSchema: { type: 'object' }, ...(annotations !== undefined && { annotations }) };
  const intent = createIntent({ server: 'files', tool, args: { path: '/srv/x' } });
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

  it('is denied when some rules could not be read, whatever the others say', () => {
    const set = { ...rules(['allow', '*/*']), complete: false };
    expect(decide(call({ rules: set, server: trusted, annotations: { readOnlyHint: true } })).verdict).toBe('deny');
  });

  it('is denied and asked on trusted servers and for reviewed tools too', () => {
    expect(decide(call({ server: trusted, annotations: { readOnlyHint: true }, rules: rules(['deny', '*/*']) })).verdict).toBe(
      'deny',
    );
    expect(decide(call({ server: reviewed, rules: rules(['ask', '*/*']) })).verdict).toBe('ask');
  });
});

describe('what was allowed for this run', () => {
  const grants = createGrants();
  grants.add(call().intent);

  it('allows the tool, and not another definition of it', () => {
    expect(decide(call({ grants: grants.list }))).toEqual({ verdict: 'allow', because: 'You allowed this tool for this run.' });
    expect(decide(call({ grants: grants.list, description: 'Changed.' })).verdict).toBe('ask');
    expect(decide(call({ grants: grants.list, annotations: { readOnlyHint: true } })).verdict).toBe('ask');
  });

  it('is no match for a rule that denies or asks', () => {
    expect(decide(call({ grants: grants.list, rules: rules(['deny', '*/*']) })).verdict).toBe('deny');
    expect(decide(call({ grants: grants.list, rules: rules(['ask', '*/*']) })).verdict).toBe('ask');
  });

  it('is offered only where it would count', () => {
    expect(decide(call())).toMatchObject({ verdict: 'ask', widest: 'run' });
    expect(decide(call({ rules: rules(['ask', '*/*']) }))).toMatchObject({ verdict: 'ask', widest: 'once' });
  });
});

describe('what a server wants from the client', () => {
  const input = (kind: InputQuestion['kind'], more: Partial<InputQuestion> = {}): InputQuestion => ({
    type: 'input',
    kind,
    server: 'files',
    rules: NO_RULES,
    ...more,
  });

  it.each<[InputQuestion['kind'], Effect | undefined, Effect]>([
    ['elicitation', undefined, 'ask'],
    ['elicitation', 'deny', 'deny'],
    ['sampling', undefined, 'deny'],
    ['sampling', 'ask', 'ask'],
    ['sampling', 'allow', 'allow'],
    ['roots', undefined, 'allow'],
    ['roots', 'deny', 'deny'],
  ])('%s with the setting %s: %s', (kind, setting, verdict) => {
    expect(decide(input(kind, { ...(setting !== undefined && { setting }) })).verdict).toBe(verdict);
  });

  it('is not opened by a rule that allows tools', () => {
    expect(decide(input('sampling', { rules: rules(['allow', '*/*'], ['allow', 'files/sampling']) })).verdict).toBe('deny');
  });

  it('is denied when some rules could not be read', () => {
    expect(decide(input('roots', { rules: { rules: [], complete: false } })).verdict).toBe('deny');
  });
});

import { expect, it } from 'vitest';
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { JournalRecord } from '../../store/index.ts';
import { rule, ruleSet } from './fixtures/world.ts';
import { replay } from './replay.ts';

const record = (args: JsonObject, facts: JsonObject = {}): JournalRecord => ({
  id: 'call_1',
  run: 'run_1',
  principal: '',
  route: 'run',
  serverName: 'mail',
  server: 's',
  tool: 'send',
  definitionDigest: 'd',
  intentDigest: 'i',
  args,
  facts,
  because: '',
  at: 0,
  state: 'done',
});
const hidden = { redacted: 'ab'.repeat(16), bytes: 12 };

const verdicts = (args: JsonObject, rules: { before?: string; after: string }, facts?: JsonObject) => {
  const [before, after] = [rules.before ?? 'allow */*', rules.after].map((text) => {
    const [effect, ...rest] = text.split(' ');
    return ruleSet(rule(effect as 'allow', rest.join(' ')));
  });
  const [only] = replay([record(args, facts)], before as never, after as never);
  return [only?.before.verdict, only?.after.verdict, only?.unknown];
};

it('decides by both policies', () => {
  expect(verdicts({ to: 'a@x' }, { after: 'deny mail/*(to: a@x)' })).toEqual(['allow', 'deny', []]);
  expect(verdicts({ to: 'b@x' }, { after: 'deny mail/*(to: a@x)' })).toEqual(['allow', 'ask', []]);
});

it('decides on the facts of the time', () => {
  const mark = { server: 'web', from: 'fetch', untrusted: true, private: 'to-others', digest: 'd' };
  expect(verdicts({}, { after: 'allow */*' }, { taint: [mark] })).toEqual(['ask', 'ask', []]);
  const trusted = { trusted: true, annotations: { readOnlyHint: true } };
  expect(verdicts({}, { before: 'deny a/b', after: 'allow mail/* when read-only' }, trusted)).toEqual(['allow', 'allow', []]);
  expect(verdicts({}, { before: 'deny a/b', after: 'deny a/c' }, { reviewed: true })).toEqual(['allow', 'allow', []]);
  expect(verdicts({}, { after: 'deny */* when route run' })).toEqual(['allow', 'deny', []]);
});

it('says which arguments were not kept, where a rule looks at them', () => {
  expect(verdicts({ to: hidden }, { after: 'deny mail/*(to: a@x)' })[2]).toEqual(['/to']);
  expect(verdicts({ to: hidden }, { after: 'deny mail/*(cc: a@x)' })[2]).toEqual([]);
  expect(verdicts({ to: hidden }, { after: 'deny other/*(to: a@x)' })[2]).toEqual([]);
  expect(verdicts({ to: hidden }, { before: 'allow mail/*(to: a@x)', after: 'deny a/b' })[2]).toEqual(['/to']);
  expect(verdicts({ o: { 'a/b': hidden } }, { after: 'deny mail/*(o: under /etc)' })[2]).toEqual(['/o/a~1b']);
  expect(verdicts({ o: [hidden] }, { after: 'deny mail/*(o.*.x: 1)' })[2]).toEqual(['/o/0']);
  // All of them, since they were too long.
  expect(verdicts(hidden, { after: 'deny mail/*(to: a@x)' })[2]).toEqual(['']);
  expect(verdicts(hidden, { after: 'deny mail/*' })[2]).toEqual([]);
});

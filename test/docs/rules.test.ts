// The examples in docs/rules.md do what the page says.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createIntent, matchingRules, parseRule, type CallQuestion } from '../../src/host/index.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/rules.md'), 'utf8');
const ROW = /^\| `(allow|ask|deny) ([^`]+)`\s*\| `([\w-]+)\/([\w-]+) (\{[^`]*\})`\s*\| (yes|no)\s*\|$/gm;
const rows = [...page.matchAll(ROW)].map((row) => row.slice(1).map((cell) => cell.replaceAll('\\|', '|')));

test('there are examples', () => {
  expect(rows.length).toBeGreaterThan(15);
});

test.each(rows)('%s %s on %s/%s %s: %s', (effect, text, server, tool, args, matches) => {
  const rule = parseRule(effect as 'allow', text, { file: 'docs/rules.md', key: '', scope: 'user' });
  const question: CallQuestion = {
    type: 'call',
    intent: createIntent({
      server: server,
      tool: { name: tool, inputSchema: {} },
      args: JSON.parse(args) as Record<string, unknown>,
    }),
    server: { trusted: false, reviewedTools: [] },
    grants: [],
    rules: { rules: [rule], repeatable: [], problems: [], version: () => '' },
  };
  expect(matchingRules(question).length === 1 ? 'yes' : 'no').toBe(matches);
});

test.each([...page.matchAll(/^ {4}"(allow|ask|deny|repeatable)": (\[.*\]),$/gm)].map(([, list, rules]) => [list, rules]))(
  'the rules of the example file can be read: %s %s',
  (list, rules) => {
    for (const text of JSON.parse(rules as string) as string[]) {
      parseRule(list === 'repeatable' ? 'allow' : (list as 'ask'), text, { file: 'docs/rules.md', key: '', scope: 'user' });
    }
  },
);

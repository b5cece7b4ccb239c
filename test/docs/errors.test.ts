// Holds docs/errors.md and the table in src/errors.ts together, both ways.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ERRORS, type ErrorFacts } from '../../src/errors.ts';

const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8');
const sections = new Map(
  page
    .split(/^### /m)
    .slice(1)
    .map((section) => [/^`([^`]+)`$/m.exec(section)?.[1] ?? section, section]),
);

test('every code has its section and every section its code', () => {
  expect([...sections.keys()].sort()).toEqual(Object.keys(ERRORS).sort());
});

describe.each(Object.entries<ErrorFacts>(ERRORS))('the section of %s', (code, facts) => {
  test('says what the table says', () => {
    const lines = sections.get(code)?.split('\n');
    expect(lines).toContain(facts.summary);
    expect(lines).toContain(`- What to do: ${facts.remedy}`);
    expect(lines).toContain(`- Exit code: ${facts.exit}`);
    expect(lines).toContain(`- HTTP status: ${facts.http}`);
  });
});

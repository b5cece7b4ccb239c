// Servers that ask for ever, ask for what nobody offered, or lead a person astray.
import { describe, expect, it } from 'vitest';
import type { InputHandlers } from '../../src/client/index.ts';
import { textOf, withOracle } from './fixtures/scene.ts';

const modern = (mode: string) => [mode, '--era', 'modern'] as const;

describe('rounds of input', () => {
  it('without questions end after their limit, at a slowing pace', async () => {
    await withOracle(
      modern('asks-for-ever'),
      async ({ call }) => {
        const startedAt = performance.now();
        expect(await call()).toMatchObject({
          type: 'fault',
          error: { code: 'limit', details: { limit: 'maxRounds', allowed: 3, observed: 4 } },
        });
        // 250, 500 and 1,000 ms.
        expect(performance.now() - startedAt).toBeGreaterThan(1_700);
      },
      { limits: { maxRounds: 3 } },
    );
  });

  it('with questions end after their limit', async () => {
    const shown: string[] = [];
    const inputs: InputHandlers = {
      async elicitUrl({ url }) {
        shown.push(url);
        return { action: 'accept' };
      },
    };
    await withOracle(
      modern('asks-questions-for-ever'),
      async ({ call }) => {
        expect(await call()).toMatchObject({
          type: 'fault',
          error: { code: 'limit', details: { limit: 'maxRounds', allowed: 8 } },
        });
        expect(shown).toHaveLength(8);
      },
      { inputs },
    );
  });

  it.each(['sampling', 'unknown', 'prototype', 'many', 'nothing'])(
    'that want what was not declared ask nobody (%s)',
    async (kind) => {
      let asked = 0;
      const inputs: InputHandlers = {
        async elicitUrl() {
          asked++;
          return { action: 'accept' };
        },
      };
      await withOracle(
        modern('asks-the-undeclared'),
        async ({ call }) => {
          const outcome = await call('work', { kind });
          expect(outcome).toMatchObject({ type: 'fault' });
          if (outcome.type === 'fault') expect(['input-unanswered', 'protocol-violation', 'limit']).toContain(outcome.error.code);
          expect(asked).toBe(0);
          expect(textOf(await call('ping'))).toBe('pong');
        },
        { inputs, limits: { maxRounds: 2 } },
      );
    },
  );
});

describe('questions', () => {
  it('by the thousand are shown to a person a few at a time, and the rest is refused', async () => {
    let open = 0;
    let most = 0;
    const inputs: InputHandlers = {
      async elicitForm(_form, { signal }) {
        most = Math.max(most, ++open);
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        open--;
        return { action: 'cancel' };
      },
    };
    await withOracle(
      ['asks-a-thousand-times', '--amount', '1000'],
      async ({ call }) => {
        expect(textOf(await call())).toBe('asked');
        expect(textOf(await call('ping'))).toBe('pong');
        expect(most).toBe(8);
      },
      { inputs },
    );
  });
});

describe('an address that a server wants opened', () => {
  it('is shown to nobody unless it is https and plain', async () => {
    const shown: string[] = [];
    const inputs: InputHandlers = {
      async elicitUrl({ url }) {
        shown.push(url);
        return { action: 'accept' };
      },
    };
    await withOracle(
      modern('asks-urls'),
      async ({ call }) => {
        for (let n = 0; n < 6; n++) {
          expect(await call('work', { n })).toMatchObject({ type: 'fault', error: { code: 'input-unanswered' } });
        }
        expect(shown).toEqual([]);
      },
      { inputs },
    );
  });
});

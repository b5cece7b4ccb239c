import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CHAIN_START, link, seal, verifyChain, type ChainEnd } from './audit-chain.ts';
import type { AuditEntry, AuditHead, AuditRecord } from './store.ts';

const KEY = new Uint8Array(32).fill(7);

const entries = fc.array(
  fc.record({
    at: fc.integer({ min: 0, max: 2 ** 45 }),
    kind: fc.string({ unit: 'binary' }),
    body: fc.dictionary(fc.string(), fc.jsonValue()),
  }),
  { minLength: 1, maxLength: 12 },
);

function chainOf(list: readonly AuditEntry[]): { readonly records: readonly AuditRecord[]; readonly head: AuditHead } {
  const records: AuditRecord[] = [];
  let end: ChainEnd = CHAIN_START;
  for (const entry of list) records.push((end = link(entry, end)));
  return { records, head: seal(end, KEY) };
}

/** A chain of some records, and a place in it. */
const chains = entries.chain((list) => fc.tuple(fc.constant(chainOf(list)), fc.nat(list.length - 1)));

/** As a store gives them back. */
const stored = (records: readonly AuditRecord[]) => JSON.parse(JSON.stringify(records)) as AuditRecord[];

test('a chain as it was written is good, also after it was stored', async () => {
  await fc.assert(
    fc.asyncProperty(entries, async (list) => {
      const { records, head } = chainOf(list);
      expect(await verifyChain(stored(records), head, KEY)).toEqual({ ok: true, count: list.length });
    }),
  );
});

test('one character that is another one is found, at its record', async () => {
  await fc.assert(
    fc.asyncProperty(chains, fc.nat(), fc.nat({ max: 0xff }), async ([{ records, head }, at], place, code) => {
      const text = JSON.stringify(records[at]);
      const where = place % text.length;
      const flipped = text.slice(0, where) + String.fromCharCode(code) + text.slice(where + 1);
      let record: AuditRecord;
      try {
        record = JSON.parse(flipped) as AuditRecord;
      } catch {
        return fc.pre(false);
      }
      // Another way to write the same record is no change.
      fc.pre(JSON.stringify(record) !== text);
      // Without its own hash it is no record; a member of another name is one that is missing and one that is added.
      const verdict = await verifyChain(stored(records).with(at, record), head, KEY);
      expect(verdict).toMatchObject({ ok: false, seq: at + 1 });
    }),
  );
});

test('a record that was taken out is found, at its place', async () => {
  await fc.assert(
    fc.asyncProperty(chains, async ([{ records, head }, at]) => {
      const fault = at === records.length - 1 ? 'cut' : 'missing';
      expect(await verifyChain(records.toSpliced(at, 1), head, KEY)).toEqual({ ok: false, seq: at + 1, fault });
    }),
  );
});

test('a chain that was cut is found, at the first record that is gone', async () => {
  await fc.assert(
    fc.asyncProperty(chains, async ([{ records, head }, at]) => {
      expect(await verifyChain(records.slice(0, at), head, KEY)).toEqual({ ok: false, seq: at + 1, fault: 'cut' });
    }),
  );
});

test('records in another order are found, at the first that is out of it', async () => {
  await fc.assert(
    fc.asyncProperty(chains, fc.nat(), async ([{ records, head }, at], other) => {
      const to = other % records.length;
      fc.pre(to !== at);
      const moved = records.with(at, records[to]!).with(to, records[at]!);
      expect(await verifyChain(moved, head, KEY)).toEqual({ ok: false, seq: Math.min(at, to) + 1, fault: 'missing' });
    }),
  );
});

test('a record of another chain is found, even with its hash and number right', async () => {
  await fc.assert(
    fc.asyncProperty(chains, entries, async ([{ records, head }, at], [foreign]) => {
      const previous = { seq: at, hash: 'f'.repeat(64) };
      const verdict = await verifyChain(records.with(at, link(foreign!, previous)), head, KEY);
      expect(verdict).toEqual({ ok: false, seq: at + 1, fault: 'unlinked' });
    }),
  );
});

test('a chain that was written anew from some record on is found by its head', async () => {
  await fc.assert(
    fc.asyncProperty(chains, async ([{ records, head }, at]) => {
      const forged = chainOf(records.map((entry, index) => (index === at ? { ...entry, kind: `${entry.kind}!` } : entry)));
      const verdict = await verifyChain(forged.records, head, KEY);
      expect(verdict).toEqual({ ok: false, seq: records.length, fault: 'rewritten' });
      // Without the key, its head cannot be sealed.
      const sealed = seal(forged.head, new Uint8Array(32).fill(8));
      const unsealed = { ok: false, seq: records.length, fault: 'unsealed' };
      expect(await verifyChain(forged.records, sealed, KEY)).toEqual(unsealed);
    }),
  );
});

test('an older state that was put back whole is found by a later head that was kept elsewhere', async () => {
  await fc.assert(
    fc.asyncProperty(chains, async ([{ records, head: anchor }, at]) => {
      const older = records.slice(0, at);
      const head = at === 0 ? undefined : seal(older.at(-1)!, KEY);
      // By itself it is a good chain.
      expect(await verifyChain(older, head, KEY)).toEqual({ ok: true, count: at });
      expect(await verifyChain(older, head, KEY, { anchor })).toEqual({ ok: false, seq: at + 1, fault: 'cut' });
    }),
  );
});

test('a chain that goes on behind its head is found', async () => {
  await fc.assert(
    fc.asyncProperty(chains, async ([{ records }, at]) => {
      fc.pre(at > 0);
      const head = seal(records[at - 1]!, KEY);
      expect(await verifyChain(records, head, KEY)).toEqual({ ok: false, seq: at + 1, fault: 'added' });
      expect(await verifyChain(records, undefined, KEY)).toMatchObject({ ok: false, fault: 'unsealed' });
    }),
  );
});

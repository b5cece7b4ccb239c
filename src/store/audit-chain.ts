// The audit as a chain: each record holds the hash of the one before it, and the head, sealed with a key that is not in the store,
// says where the chain ends. Pure: it neither reads nor writes, and knows no key but the one it is handed.
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { canonical, digest } from '../base/index.ts';
import type { JsonObject } from '../jsonrpc/index.ts';
import type { AuditEntry, AuditHead, AuditRecord } from './store.ts';

/** What a record follows: the last one of the chain, or nothing. */
export type ChainEnd = Pick<AuditHead, 'seq' | 'hash'>;

/** Where a chain begins: what its first record follows. */
export const CHAIN_START: ChainEnd = { seq: 0, hash: '0'.repeat(64) };

/** Returns the record that `entry` becomes after `previous`. Its body is a copy, as JSON keeps it. */
export function link(entry: AuditEntry, previous: ChainEnd): AuditRecord {
  const { at, kind } = entry;
  const text = canonical(entry.body);
  const rest = { seq: previous.seq + 1, previous: previous.hash, at, kind };
  // The canonical form of the whole, without writing the body a second time: its key stands between the first two.
  const [first, ...others] = canonical(rest).split(',');
  const whole = `${first as string},"body":${text},${others.join(',')}`;
  return { ...rest, body: JSON.parse(text) as JsonObject, hash: hash('sha256', whole) };
}

/** Returns the head of a chain that ends here, sealed: HMAC-SHA256 in hexadecimal. */
export function seal({ seq, hash }: ChainEnd, key: Uint8Array): AuditHead {
  return { seq, hash, seal: createHmac('sha256', key).update(`parley audit head\n${seq}\n${hash}`).digest('hex') };
}

/** True when the head was sealed with this key. */
export function isSealed(head: AuditHead, key: Uint8Array): boolean {
  const right = Buffer.from(seal(head, key).seal);
  const found = Buffer.from(head.seal);
  return right.length === found.length && timingSafeEqual(right, found);
}

/** What was found: how many records are good, or the first that is not and what is wrong with it. */
export type ChainVerdict =
  | { readonly ok: true; readonly count: number }
  | {
      readonly ok: false;
      /** Number of the first bad record, or of the one that should be there. */
      readonly seq: number;
      readonly fault: ChainFault;
    };

export type ChainFault =
  /** Its hash is not the one of its content. */
  | 'altered'
  /** Another record stands where this one should: it was taken out, or the order was changed. */
  | 'missing'
  /** It does not follow the record before it: one of the two was exchanged. */
  | 'unlinked'
  /** The sealed head says that the chain goes on, but it ends before this record. */
  | 'cut'
  /** The chain goes on behind its sealed head. */
  | 'added'
  /** The record at the head, or at the anchor, is another one: the chain was written anew somewhere before it. */
  | 'rewritten'
  /** The head is not there, or was sealed with another key. */
  | 'unsealed';

/**
 * Reads a chain from its first record to its last and resolves with the first fault. A store that was put back as a whole to an
 * older state is found out with an `anchor` only: a head that was kept somewhere else.
 */
export async function verifyChain(
  records: Iterable<AuditRecord> | AsyncIterable<AuditRecord>,
  head: AuditHead | undefined,
  key: Uint8Array,
  options: { readonly anchor?: AuditHead } = {},
): Promise<ChainVerdict> {
  const { anchor } = options;
  let last = CHAIN_START;
  for await (const record of records) {
    const fault = faultOf(record, last);
    if (fault !== undefined) return { ok: false, seq: last.seq + 1, fault };
    if (head !== undefined && record.seq > head.seq) return { ok: false, seq: record.seq, fault: 'added' };
    for (const known of [anchor, head]) {
      if (record.seq === known?.seq && record.hash !== known.hash) return { ok: false, seq: record.seq, fault: 'rewritten' };
    }
    last = record;
  }
  const missing = Math.max(head?.seq ?? 0, anchor?.seq ?? 0) > last.seq;
  if (missing) return { ok: false, seq: last.seq + 1, fault: 'cut' };
  // A chain without a record has no head; all others have one.
  if (head === undefined) return last.seq === 0 ? { ok: true, count: 0 } : { ok: false, seq: last.seq, fault: 'unsealed' };
  if (!isSealed(head, key) || (anchor !== undefined && !isSealed(anchor, key))) {
    return { ok: false, seq: head.seq, fault: 'unsealed' };
  }
  return { ok: true, count: last.seq };
}

function faultOf(record: AuditRecord, last: ChainEnd): ChainFault | undefined {
  const { hash, ...rest } = record;
  if (record.seq !== last.seq + 1) return 'missing';
  if (digest(rest) !== hash) return 'altered';
  return record.previous === last.hash ? undefined : 'unlinked';
}

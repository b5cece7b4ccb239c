// State that travels through the client and comes back: sealed, so that it can be neither read nor altered, bound to the
// request it was made for, and good for a short time. Nothing is kept here; any process with the same key can open it.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { ParleyError, RpcError } from '../errors.ts';
import { rpcCode } from '../jsonrpc/index.ts';

export interface SealOptions {
  /** At least 16 bytes, the same in every process that serves the same clients. Default: random, for this process alone. */
  readonly key?: string | Uint8Array | undefined;
  /** Milliseconds for which a state is good. Default 10 minutes. */
  readonly lifetimeMs?: number | undefined;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

/** `rounds`: made by this library from the answers so far. `handler`: made by a handler. One never passes for the other. */
export type SealKind = 'rounds' | 'handler';

export interface Sealer {
  seal(kind: SealKind, value: unknown, binding: string): string;
  /** @throws RpcError -32602 for what was not sealed here for this binding, or too long ago */
  open(kind: SealKind, text: string, binding: string): unknown;
}

const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const MIN_KEY_BYTES = 16;
const PREFIX: Readonly<Record<SealKind, string>> = { rounds: 'r1.', handler: 'h1.' };

/** True for text that claims to be a state of this library's making. */
export function isRoundsState(text: string): boolean {
  return text.startsWith(PREFIX.rounds);
}

/** @throws ParleyError `usage` for a key that is too short */
export function createSealer(options: SealOptions = {}): Sealer {
  const { key, lifetimeMs = 600_000, now = Date.now } = options;
  if (key !== undefined && Buffer.byteLength(key) < MIN_KEY_BYTES) {
    throw new ParleyError('usage', `The stateKey is too short. Give at least ${MIN_KEY_BYTES} bytes that cannot be guessed.`);
  }
  let secret: Buffer | undefined;
  const secretKey = () => (secret ??= key === undefined ? randomBytes(32) : derive(key));

  return {
    seal(kind, value, binding) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(ALGORITHM, secretKey(), iv);
      cipher.setAAD(Buffer.from(`${kind}\n${binding}`));
      const text = JSON.stringify({ until: now() + lifetimeMs, value });
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return PREFIX[kind] + Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
    },
    open(kind, text, binding) {
      const opened = unseal(kind, text, binding);
      if (opened === undefined || opened.until < now()) {
        throw new RpcError(
          rpcCode.invalidParams,
          'Invalid params: the requestState is not valid for this request, or is too old. Send the request again without it',
        );
      }
      return opened.value;
    },
  };

  function unseal(kind: SealKind, text: string, binding: string): { until: number; value: unknown } | undefined {
    const encoded = text.slice(PREFIX[kind].length);
    const bytes = Buffer.from(encoded, 'base64url');
    // The decoder skips what is not of its alphabet; altered text must not pass for the original.
    if (PREFIX[kind] + bytes.toString('base64url') !== text || bytes.length < IV_BYTES + TAG_BYTES) return undefined;
    try {
      const decipher = createDecipheriv(ALGORITHM, secretKey(), bytes.subarray(0, IV_BYTES));
      decipher.setAAD(Buffer.from(`${kind}\n${binding}`));
      decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      const plain = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
      return JSON.parse(plain.toString()) as { until: number; value: unknown };
    } catch {
      return undefined;
    }
  }
}

function derive(key: string | Uint8Array): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', 'parley requestState', 32));
}

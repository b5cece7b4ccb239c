// Arguments as they may be written down: what looks like a secret is replaced by a keyed digest, so that two records can be seen to
// hold the same secret and none can be read. What is very long is replaced by its digest too.
import { createHmac } from 'node:crypto';
import { canonical } from '../../base/index.ts';
import { isObject, type JsonObject } from '../../jsonrpc/index.ts';

/** Characters of one text that is kept. */
const LONGEST_TEXT = 4_096;
/** Characters of a name that is kept. */
export const LONGEST_NAME = 256;
/** Characters of all arguments; of more, only a digest is kept. */
const LONGEST_WHOLE = 65_536;

/** Names of arguments that hold secrets, in whatever spelling. */
const SECRET_NAME =
  /pass(?:word|wd|phrase|code)|^pass$|pwd|secret|token|(?:api|access|private|signing|encryption)[-_ ]?key|auth(?:orization|entication)?$|credential|cookie|session[-_ ]?id|^pin$|otp|signature|jwt|^cv[vc]$/i;

/** The same in the middle of a text, where a value stands behind it. */
const NAME_IN_TEXT = String.raw`(?:password|passwd|passphrase|pwd|secret|token|(?:api|access|private)[-_]?key|credentials?|signature)`;

/** Texts that are secrets whatever they are called: keys of well-known forms, tokens, key files, URLs with a password or a key. */
const SECRET_TEXT = [
  /\b(?:sk|pk|rk|ghp|gho|ghu|ghs|ghr|glpat|xox[abprs]|npm|pypi|hf|shpat)[-_][A-Za-z0-9_-]{16,}/,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/,
  /\bAIza[A-Za-z0-9_-]{30,}/,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/,
  /\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{16,}/i,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  /\bauthorization["']?\s{0,3}[:=]\s{0,3}\S/i,
  // Of bounded lengths, or each word of a long text would be read to its end.
  /\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s/:@]{1,256}:[^\s/@]{1,256}@/i,
  // `token=…` of a query or a connection, `"token": "…"` of JSON, `token: …` alone in its line. Code has spaces around its `=`.
  new RegExp(`${NAME_IN_TEXT}=["']?[^\\s"'&;,()]{6,}`, 'i'),
  new RegExp(`${NAME_IN_TEXT}["']\\s{0,3}:\\s{0,3}["'][^"']{3,}`, 'i'),
  new RegExp(`^[\\t -]{0,16}[\\w.-]{0,40}${NAME_IN_TEXT}:[\\t ]{1,8}\\S{6,}[\\t ]{0,8}$`, 'im'),
];

/** What each of those has in it somewhere, so that most texts are looked at once. */
const MAY_BE_SECRET = /[-_:=]|A[KS]IA|AIza|eyJ|(?:bearer|basic)\s/i;

export interface RedactOptions {
  /** What digests of hidden values are made with. */
  readonly key: () => Uint8Array;
  /** More names of arguments that hold secrets; case does not matter. */
  readonly names?: readonly string[];
}

/** Returns the arguments without secrets: a copy, where they hold any. */
export type Redact = (args: JsonObject) => JsonObject;

/** Says of a value that it was there, without saying it. */
export function createHide(key: () => Uint8Array): (value: unknown) => JsonObject {
  return (value) => {
    const text = typeof value === 'string' ? value : canonical(value);
    const hmac = createHmac('sha256', key()).update('parley redacted\n').update(text).digest('hex');
    return { redacted: hmac.slice(0, 32), bytes: Buffer.byteLength(text) };
  };
}

export function createRedact(options: RedactOptions): Redact {
  const names = new Set((options.names ?? []).map((name) => name.toLowerCase()));
  const isSecretName = (name: string) => SECRET_NAME.test(name) || (names.size > 0 && names.has(name.toLowerCase()));
  const isSecretText = (text: string) => MAY_BE_SECRET.test(text) && SECRET_TEXT.some((form) => form.test(text));

  const hidden = createHide(options.key);

  /** Characters that the arguments at hand have come to. */
  let size = 0;

  /** The value itself where nothing of it is hidden. */
  function clean(value: unknown): unknown {
    // Nothing of it will be kept, so none of it has to be looked at.
    if (size > LONGEST_WHOLE) return null;
    if (typeof value === 'string') {
      size += value.length;
      return value.length > LONGEST_TEXT || isSecretText(value) ? hidden(value) : value;
    }
    size += 8;
    if (Array.isArray(value)) return cleanList(value);
    return isObject(value) ? cleanObject(value) : value;
  }

  function cleanList(list: readonly unknown[]): readonly unknown[] {
    let cleaned: unknown[] | undefined;
    for (let at = 0; at < list.length; at++) {
      const item = clean(list[at]);
      if (item !== list[at]) (cleaned ??= [...list])[at] = item;
    }
    return cleaned ?? list;
  }

  function cleanObject(object: JsonObject): JsonObject {
    // A list of headers or variables, say: one member has the name, another the value.
    const label = object['name'] ?? object['key'];
    const isLabelled = typeof label === 'string' && isSecretName(label);
    const keys = Object.keys(object);
    let cleaned: Record<string, unknown> | undefined;
    for (let at = 0; at < keys.length; at++) {
      const name = keys[at] as string;
      const value = object[name];
      size += name.length;
      const isNamed = isSecretName(name) || (isLabelled && name === 'value');
      const isSecret = isNamed && value !== null && typeof value !== 'boolean';
      const member = isSecret ? hidden(value) : clean(value);
      // A name may be a secret itself, where somebody made a map of them.
      const key = isSecretText(name) ? '(redacted)' : name.slice(0, LONGEST_NAME);
      if (member === value && key === name && cleaned === undefined) continue;
      cleaned ??= membersOf(object, keys.slice(0, at));
      put(cleaned, key, member);
    }
    return cleaned ?? object;
  }

  return (args) => {
    size = 0;
    const cleaned = cleanObject(args);
    return size > LONGEST_WHOLE ? hidden(args) : cleaned;
  };
}

function membersOf(object: JsonObject, keys: readonly string[]): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (const key of keys) put(members, key, object[key]);
  return members;
}

/** Sets a member, which is never to be taken for more than a name. */
function put(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key in object) Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}

// What an HTTP answer that is no success means: a reply that merely came with an error status, a refused credential, a lost
// session, or a plain failure. The body is read first, whatever the status says.
import { ParleyError } from '../../errors.ts';
import { isObject, sort, type RequestId } from '../../jsonrpc/index.ts';
import { json } from './reading.ts';
import type { HttpAnswer } from './request.ts';

/** An answer with a status of 300 or above, read. */
export interface Refusal {
  readonly status: number;
  /** The beginning of the body. Untrusted. */
  readonly text: string;
  readonly challenge: string | undefined;
  /** The server no longer knows the session that was sent along. */
  readonly sessionLost: boolean;
}

const MAX_READ_BYTES = 65_536;
const MAX_EXCERPT = 2_048;

/**
 * Reads a refusal; `session` is what was sent along, if anything.
 * @throws ParleyError the reason of the answer's signal, and nothing else: the status says enough when the body cannot be had
 */
export async function readRefusal(answer: HttpAnswer, session: string | undefined): Promise<Refusal> {
  const { status } = answer;
  const text = await answer.text(MAX_READ_BYTES, 'cut');
  // The specification has 404 for it; many servers answer 400.
  const sessionLost = session !== undefined && (status === 404 || (status === 400 && /session/i.test(text)));
  return { status, text, challenge: answer.headers['www-authenticate'], sessionLost };
}

/** The JSON-RPC value in the body, when it replies to the request `id`; otherwise undefined. */
export function replyIn({ status, text, sessionLost }: Refusal, id: RequestId): unknown {
  if (isAuth(status)) return undefined;
  const value = jsonWithin(text);
  const items = Array.isArray(value) ? (value as unknown[]) : [value];
  if (items.some((item) => isObject(item) && item['id'] === id && !('method' in item))) return value;
  // An error without an id can only mean this request, but it is also how a lost session is reported.
  return !sessionLost && items.some((item) => isErrorWithoutId(item)) ? value : undefined;
}

/**
 * The fault that the refusal is: `auth-required`, `session-lost` or `http-status`. `asked` is what was refused: a message that
 * was refused with its session was not carried out.
 */
export function faultOf(
  { status, text, challenge, sessionLost }: Refusal,
  target: string,
  asked: 'message' | 'stream',
): ParleyError {
  const details = { status, body: text.slice(0, MAX_EXCERPT) };
  if (isAuth(status)) {
    const remedy = 'Sign in with `parley mcp login`, or set them in its `headers`.';
    return new ParleyError('auth-required', `${target} wants other credentials (HTTP ${status}). ${remedy}`, {
      details: challenge === undefined ? details : { ...details, challenge },
    });
  }
  if (sessionLost) {
    return new ParleyError('session-lost', `${target} no longer knows the session (HTTP ${status}). Connect again.`, {
      retryable: asked === 'message',
      details: asked === 'message' ? { ...details, unsent: true } : details,
    });
  }
  const remedy =
    status === 429
      ? 'It asks for fewer requests: try again later.'
      : status >= 500
        ? 'The server, or a proxy before it, has failed: try again later, and look at its own log.'
        : 'Check that the URL is an MCP endpoint and that the server is well.';
  return new ParleyError('http-status', `${target} answered HTTP ${status} and no MCP reply. ${remedy}`, { details });
}

/** What is refused for its depth is no reply: the status says enough. */
function jsonWithin(text: string): unknown {
  try {
    return json(text);
  } catch {
    return undefined;
  }
}

function isAuth(status: number): boolean {
  return status === 401 || status === 403;
}

function isErrorWithoutId(value: unknown): boolean {
  const incoming = sort(value);
  return incoming.kind === 'failure' && (incoming.message.id ?? null) === null;
}

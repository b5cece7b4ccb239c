// What a user gives a transport that speaks HTTP: the URL and headers of their own, checked before anything is sent.
import { lowerCase, realSignal, type StopSignal } from '../../base/index.ts';
import { isParleyError, ParleyError } from '../../errors.ts';

/** Headers for every request, or a function that is asked for them before each one (for credentials that change). */
export type HeaderSource = Readonly<Record<string, string>> | HeaderFunction;

export type HeaderFunction = (options: { readonly signal: AbortSignal }) => Promise<Readonly<Record<string, string>>>;

/** Headers by their names in lower case. */
export type Headers = Readonly<Record<string, string>>;

/** Gives the user's headers for one request. */
export type HeaderProvider = (signal: StopSignal) => Headers | Promise<Headers>;

const FAILED = 'The function that gives the headers failed; nothing was sent.';

/** Set by the transport or by HTTP itself. */
const RESERVED = new Set([
  'accept',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'last-event-id',
  'mcp-session-id',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * The URL of a server.
 * @throws ParleyError `config-invalid` when it is no http or https URL
 */
export function serverUrl(text: string | URL): URL {
  const url = URL.canParse(String(text)) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new ParleyError('config-invalid', 'The URL of an MCP server must be an absolute http or https URL.');
  }
  url.hash = '';
  return url;
}

/** The URL for people: without user name and password, and with the query's values left out, since keys travel there. */
export function targetOf(url: URL): string {
  const names = [...url.searchParams].map(([name, value]) => (value === '' ? '…' : `${encodeURIComponent(name)}=…`));
  return `${url.origin}${url.pathname}${names.length === 0 ? '' : `?${names.join('&')}`}`;
}

/**
 * Returns a function that gives the user's headers, checked: at once where they are fixed, each time where they are not.
 * A user name and password in the URL become an Authorization header, unless there is one.
 * @throws ParleyError `config-invalid` for a name or value that HTTP does not allow, or a header that is the transport's own
 */
export function headerSource(url: URL, source: HeaderSource = {}): HeaderProvider {
  const basic = basicAuthorization(url);
  if (typeof source !== 'function') {
    const fixed = { ...basic, ...checked(source) };
    return () => fixed;
  }
  return async (stop) => {
    const signal = realSignal(stop);
    return { ...basic, ...checked(await givenBy(() => source({ signal }), signal, FAILED)) };
  };
}

/** The same headers with their names in lower case, so that the same header given twice is one. */
export function lowerCased(headers: Headers): Headers {
  const lowered: Record<string, string> = {};
  for (const name in headers) lowered[lowerCase(name)] = headers[name] as string;
  return lowered;
}

function checked(headers: Headers): Headers {
  for (const [name, value] of Object.entries(headers)) {
    // RFC 9110, section 5: a name is a token. Beyond ASCII servers read values differently.
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) throw invalid(name, 'has a name that HTTP does not allow');
    if (RESERVED.has(name.toLowerCase())) throw invalid(name, 'is set by the transport and cannot be given');
    if (typeof value !== 'string' || !/^[\t\x20-\x7e]*$/.test(value)) {
      throw invalid(name, 'has a value with a line end, another control character, or one beyond ASCII');
    }
  }
  return lowerCased(headers);
}

function invalid(name: string, why: string): ParleyError {
  return new ParleyError('config-invalid', `The header ${JSON.stringify(name)} ${why}. Correct the \`headers\` setting.`);
}

function basicAuthorization(url: URL): Headers {
  if (url.username === '' && url.password === '') return {};
  const credentials = `${unescaped(url.username)}:${unescaped(url.password)}`;
  return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A bare percent sign.
    return text;
  }
}

/**
 * What a function of the user's gives, or a rejection with the signal's reason as soon as it aborts.
 * @throws ParleyError its own when it throws one, otherwise `internal` with the message `failed`
 */
export async function givenBy<T>(give: () => Promise<T>, signal: AbortSignal, failed: string): Promise<T> {
  if (signal.aborted) throw signal.reason as Error;
  let onAbort!: () => void;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([give(), aborted]);
  } catch (cause) {
    if (isParleyError(cause)) throw cause;
    throw new ParleyError('internal', failed, { cause });
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

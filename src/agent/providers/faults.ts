// What went wrong with a request to a model, in Parley's words, and whether to try again. What the model's server wrote is kept
// apart, without the key; it may repeat a key it was sent.
import { isObject } from '../../jsonrpc/index.ts';
import { ParleyError, type ErrorCode, type ErrorDetails } from '../../errors.ts';

export interface Failure {
  readonly fault: ParleyError;
  /** How long the server wants to be left alone, in milliseconds. */
  readonly waitMs: number | undefined;
}

export interface Service {
  readonly name: string;
  readonly address: string;
  readonly model: string;
  readonly apiKey: string | undefined;
  readonly keyName: string | undefined;
}

const LONGEST_EXCERPT = 500;

/** Returns a function that says what an error of the library means. */
export function createFaults(service: Service): (error: unknown) => Failure {
  const { name, address, apiKey } = service;
  const withoutKey = (text: string) => (apiKey === undefined || apiKey === '' ? text : text.replaceAll(apiKey, '[key]'));

  function failure(
    code: ErrorCode,
    message: string,
    error: unknown,
    more: { readonly retryable?: boolean; readonly details?: ErrorDetails } = {},
  ) {
    const said = withoutKey(excerptOf(error)).slice(0, LONGEST_EXCERPT);
    const details = { ...more.details, ...(said !== '' && { body: said }) };
    // The library's own error holds the request and the whole answer.
    const cause = new Error(withoutKey(error instanceof Error ? error.message : 'The answer holds an error.'));
    return {
      fault: new ParleyError(code, message, { cause, details, retryable: more.retryable ?? false }),
      waitMs: waitOf(error),
    };
  }

  return (error) => {
    const status = isObject(error) && typeof error['statusCode'] === 'number' ? error['statusCode'] : undefined;
    const broken = isObject(error) && error['isRetryable'] === true;
    if (status !== undefined && (status < 200 || status > 299)) {
      const { code, message, retryable } = readStatus(status, service);
      return failure(code, message, error, { retryable, details: { status } });
    }
    if (status === undefined && broken) {
      return failure(
        'unreachable',
        `${name} cannot be reached at ${address}: ${reasonOf(error)}. Look whether it runs there.`,
        error,
      );
    }
    if (broken) return failure('server-stopped', `The line to ${name} broke in the middle of an answer. Try again.`, error);
    if (error instanceof Error) {
      return failure(
        'protocol-violation',
        `${name} sent something that is no chat completion. Look whether ${address} is the right address.`,
        error,
      );
    }
    return failure('server-stopped', `${name} broke its answer off with an error. Try again, or look at its log.`, error);
  };
}

function readStatus(status: number, { name, address, model, apiKey, keyName }: Service) {
  const at = `(HTTP ${status})`;
  const refused = (message: string) => ({ code: 'http-status', message, retryable: false }) as const;
  if (status === 401 || status === 403) {
    const key = keyName === undefined ? 'its API key' : keyName;
    const message = `${name} ${apiKey === undefined ? 'wants a key' : 'did not take the key'} ${at}. ${apiKey === undefined ? 'Set' : 'Check'} ${key}.`;
    return { code: 'auth-required', message, retryable: false } as const;
  }
  if (status === 429)
    return {
      ...refused(`${name} takes no more requests for now ${at}. Wait, or look at the limits of your account.`),
      retryable: true,
    };
  if (status >= 500) return { ...refused(`${name} failed ${at}. Try again later, or look at its log.`), retryable: true };
  if (status === 404) return refused(`${name} has no model "${model}", or ${address} is not its address ${at}.`);
  if (status < 400) return refused(`${name} answered from another address ${at}. Give the address it redirects to.`);
  return refused(`${name} refused the request for the model "${model}" ${at}.`);
}

/** What the server wrote of the error, or the beginning of what it sent. */
function excerptOf(error: unknown): string {
  if (!isObject(error)) return typeof error === 'string' ? error : '';
  const { data, message, responseBody } = error as { data?: unknown; message?: unknown; responseBody?: unknown };
  if (data !== undefined || !(error instanceof Error)) return typeof message === 'string' ? message : '';
  return typeof responseBody === 'string' ? responseBody : '';
}

/** The system's code for why there is no connection, such as `ECONNREFUSED`. */
function reasonOf(error: unknown): string {
  for (let at = error, depth = 0; isObject(at) && depth < 8; at = at['cause'], depth++) {
    if (typeof at['code'] === 'string' && /^[A-Z_]{3,40}$/.test(at['code'])) return at['code'];
  }
  return 'no connection';
}

/** `retry-after`, in seconds or as a date. */
function waitOf(error: unknown): number | undefined {
  const headers = isObject(error) ? error['responseHeaders'] : undefined;
  const value = isObject(headers) ? headers['retry-after'] : undefined;
  if (typeof value !== 'string') return undefined;
  const ms = /^\d+(\.\d+)?$/.test(value.trim()) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

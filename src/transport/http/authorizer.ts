// The port through which credentials reach requests that go out over HTTP: who holds them answers here for every request, and is
// shown every refusal before anyone else. The transport knows neither schemes nor tokens.
import type { IncomingHttpHeaders } from 'node:http';
import { realSignal } from '../../base/index.ts';
import { givenBy, type Headers } from './headers.ts';
import type { HttpAnswer, HttpAsk } from './request.ts';

/** A request that is about to be sent. */
export interface AuthorizedRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
  /** Whose address it is: the configured one, one that the server named to post to, or one it redirected to. */
  readonly by: 'user' | 'server' | 'redirect';
  /** What it is about, so that two requests can be told to be alike: the method of its message and the name in it, when it has any. */
  readonly operation: string;
}

/** The answer to such a request. */
export interface AuthorizedAnswer extends AuthorizedRequest {
  readonly status: number;
  /** Of the answer: names in lower case. Untrusted. */
  readonly headers: IncomingHttpHeaders;
  /** What `headers` gave for the request. */
  readonly sent: Headers;
  /** How often this request was made: 1, 2, … */
  readonly attempt: number;
}

/** Gives requests their credentials. A person may take part, so an answer may take as long as the caller waits. */
export interface Authorizer {
  /** Resolves with the headers that authorize `request`; none when it must go without. Asked anew for every request and redirect. */
  headers(request: AuthorizedRequest, options: { readonly signal: AbortSignal }): Promise<Headers>;
  /**
   * Is shown every 401 and 403. `again` has that same request made once more, with new headers; it was not carried out, so that is
   * safe. `refused` lets the refusal stand. A ParleyError it throws is what the request fails with.
   */
  challenged(answer: AuthorizedAnswer, options: { readonly signal: AbortSignal }): Promise<'again' | 'refused'>;
  /** Is shown every other answer. */
  answered?(answer: AuthorizedAnswer): void;
}

/** Whatever an authorizer says, a request is repeated no more often. */
const MAX_REPEATS = 4;
const FAILED = 'The authorizer of the transport failed.';

/** Sends a request with its credentials, and again as long as the authorizer says so; resolves with the last answer. */
export async function askAuthorized(
  authorizer: Authorizer,
  ask: HttpAsk,
  about: Pick<AuthorizedRequest, 'by' | 'operation'>,
  send: (ask: HttpAsk) => Promise<HttpAnswer>,
): Promise<HttpAnswer> {
  const { method } = ask;
  const signal = realSignal(ask.signal);
  for (let attempt = 1; ; attempt++) {
    let request: AuthorizedRequest = { method, url: ask.url, ...about };
    let sent: Headers = {};
    const credentials = async (url: URL) => {
      if (url !== ask.url) request = { ...request, url, by: 'redirect' };
      sent = await givenBy(() => authorizer.headers(request, { signal }), signal, FAILED);
      return sent;
    };
    const answer = await send({ ...ask, credentials });
    const shown = { ...request, status: answer.status, headers: answer.headers, sent, attempt };
    if (answer.status !== 401 && answer.status !== 403) {
      authorizer.answered?.(shown);
      return answer;
    }
    if (attempt > MAX_REPEATS) return answer;
    const verdict = await givenBy(() => authorizer.challenged(shown, { signal }), signal, FAILED).catch((error: unknown) => {
      answer.discard();
      throw error;
    });
    if (verdict === 'refused') return answer;
    answer.discard();
  }
}

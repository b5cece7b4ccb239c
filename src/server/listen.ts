// `subscriptions/listen`: a request that stays open and on whose stream the changes come that its client asked for
// (2026-07-28, basic/patterns/subscriptions). Nothing goes out on it before the acknowledgement, and nothing unasked.
import { isObject, type JsonObject } from '../jsonrpc/index.ts';
import { metaKey, method, notification, type ServerCapabilities, type SubscriptionFilter } from '../protocol/index.ts';
import { invalidParams, type Call } from './call.ts';
import type { Watchers } from './watchers.ts';

const MAX_URIS = 1_024;

/** Resolves with the closing result when the server ends the stream; rejects when the client does. */
export function listen(watchers: Watchers, capabilities: ServerCapabilities, call: Call): Promise<JsonObject> {
  const { request, cancellation, line, dialect } = call;
  const { signal } = cancellation;
  const granted = grant(readFilter(call.params['notifications']), capabilities);
  const uris = new Set(granted.resourceSubscriptions);
  const tag: JsonObject = { [metaKey.subscriptionId]: request.id };
  const tell = (name: string, params: JsonObject) => line.notify(name, { ...params, _meta: tag }, request.id);

  return new Promise((resolve, reject) => {
    const stop = () => {
      leave();
      signal.removeEventListener('abort', cancelled);
    };
    const fail = (error: Error) => {
      stop();
      reject(error);
    };
    const cancelled = () => fail(signal.reason as Error);
    // A client that cannot take a stream is told so by the error of the acknowledgement.
    tell(notification.acknowledged, { notifications: granted }).catch(() =>
      fail(invalidParams('notifications cannot reach the client: it accepts no stream')),
    );
    const leave = watchers.add({
      hears: (changed) => granted[`${changed}ListChanged`] === true,
      follows: (uri) => uris.has(uri),
      tell: (name, params) => {
        tell(name, params).catch(() => {
          // The line is over, and with it the subscription: the signal says so.
        });
      },
      finish() {
        stop();
        resolve(dialect.encode(method.listen, { _meta: tag }));
      },
    });
    signal.addEventListener('abort', cancelled, { once: true });
  });
}

function readFilter(value: unknown): SubscriptionFilter {
  if (!isObject(value)) throw invalidParams('"notifications" is missing or not an object');
  const { resourceSubscriptions: uris, ...flags } = value;
  for (const name of ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged'] as const) {
    if (flags[name] !== undefined && typeof flags[name] !== 'boolean') throw invalidParams(`"${name}" is not a boolean`);
  }
  if (uris !== undefined && !(Array.isArray(uris) && uris.every((uri) => typeof uri === 'string'))) {
    throw invalidParams('"resourceSubscriptions" is not an array of strings');
  }
  if ((uris?.length ?? 0) > MAX_URIS) throw invalidParams(`"resourceSubscriptions" has more than ${MAX_URIS} entries`);
  return value;
}

/** The part of the filter that this server can fulfil. */
function grant(wanted: SubscriptionFilter, { tools, prompts, resources }: ServerCapabilities): SubscriptionFilter {
  const { toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions } = wanted;
  return {
    ...(toolsListChanged === true && tools?.listChanged === true && { toolsListChanged }),
    ...(promptsListChanged === true && prompts?.listChanged === true && { promptsListChanged }),
    ...(resourcesListChanged === true && resources?.listChanged === true && { resourcesListChanged }),
    ...(resourceSubscriptions !== undefined && resources?.subscribe === true && { resourceSubscriptions }),
  };
}

// `subscriptions/listen`: a request that stays open and on whose stream the changes come that its client asked for
// (2026-07-28, basic/patterns/subscriptions). Nothing goes out on it before the acknowledgement, and nothing unasked.
import { isObject, type JsonObject } from '../jsonrpc/index.ts';
import { metaKey, method, notification, type ServerCapabilities, type SubscriptionFilter } from '../protocol/index.ts';
import { invalidParams, type Call } from './call.ts';
import type { Core } from './core.ts';

/** Resolves with the closing result when the server ends the stream; rejects when the client does. */
export function listen(core: Pick<Core, 'watchers' | 'tasks' | 'capabilities' | 'limits'>, call: Call): Promise<JsonObject> {
  const { watchers, tasks, capabilities, limits } = core;
  const { request, cancellation, line, dialect } = call;
  const { signal } = cancellation;
  const wanted = readFilter(call.params['notifications'], limits.maxFollowed);
  const taskIds = wanted.taskIds === undefined ? undefined : tasks.audible(wanted.taskIds, call);
  const granted = { ...grant(wanted, capabilities), ...(taskIds !== undefined && { taskIds }) };
  const uris = new Set(granted.resourceSubscriptions);
  const tracked = new Set(taskIds);
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
      tracks: (taskId) => tracked.has(taskId),
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

function readFilter(value: unknown, maxListed: number): SubscriptionFilter {
  if (!isObject(value)) throw invalidParams('"notifications" is missing or not an object');
  const { resourceSubscriptions, taskIds, ...flags } = value;
  for (const name of ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged'] as const) {
    if (flags[name] !== undefined && typeof flags[name] !== 'boolean') throw invalidParams(`"${name}" is not a boolean`);
  }
  for (const [name, list] of Object.entries({ resourceSubscriptions, taskIds })) {
    if (list === undefined) continue;
    if (!Array.isArray(list) || !list.every((each) => typeof each === 'string')) {
      throw invalidParams(`"${name}" is not an array of strings`);
    }
    if (list.length > maxListed) throw invalidParams(`"${name}" has more than ${maxListed} entries`);
  }
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

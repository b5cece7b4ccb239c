// What a person answers a server is written down before the server gets it: who answered whom, during which calls, and which fields.
// No value goes in. What cannot be written down is not answered.
import type { InputHandlers } from '../../client/index.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import { checkForm, type ElicitResult } from '../../protocol/index.ts';
import type { Store } from '../../store/index.ts';
import { hideInUrl } from '../config/index.ts';
import { createHide, LONGEST_NAME } from './redact.ts';

export interface InputRecord {
  readonly store: () => Store | Promise<Store>;
  /** What keyed digests of the values are made with. */
  readonly key: () => Uint8Array;
  /** The configured server's name. */
  readonly server: string;
  /** Digest of what the server is; undefined while it is being reached. */
  readonly identity: () => string | undefined;
  readonly principal: string;
  readonly run: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** The handlers, with what is answered to forms and addresses written down. The others are passed on as they are. */
export function recordedInputs(handlers: InputHandlers, record: InputRecord): InputHandlers {
  const { elicitForm, elicitUrl } = handlers;
  const { server, principal, run, identity } = record;
  const hide = createHide(record.key);

  async function write(asked: 'form' | 'url', state: ElicitResult['action'], more: JsonObject): Promise<void> {
    const { audit, journal } = await record.store();
    const begun = await journal.list({ state: 'begun' });
    // A server of the handshake eras does not say which of its calls it asks for.
    const calls = begun.filter((call) => call.serverName === server && call.run === run).map(({ id }) => id);
    const body = { principal, run, server, identity: identity() ?? '', asked, state, by: principal, calls, ...more };
    await audit.append({ at: record.now(), kind: 'input', body });
  }

  return {
    ...handlers,
    ...(elicitForm && {
      async elicitForm(params, context) {
        const result = await elicitForm(params, context);
        const { action } = result;
        const checked = action === 'accept' ? checkForm(params.requestedSchema, result.content ?? {}) : undefined;
        // What does not fit is not sent.
        if (checked?.ok === false) return result;
        const fields = Object.entries(checked?.content ?? {}).map(([name, value]) => ({
          name: name.slice(0, LONGEST_NAME),
          ...hide(value),
        }));
        await write('form', action, action === 'accept' ? { fields } : {});
        return result;
      },
    }),
    ...(elicitUrl && {
      async elicitUrl(params, context) {
        const result = await elicitUrl(params, context);
        await write('url', result.action, { url: hideInUrl(params.url) });
        return result;
      },
    }),
  } satisfies InputHandlers;
}

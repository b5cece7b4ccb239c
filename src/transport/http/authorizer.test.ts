import { expect, it } from 'vitest';
import { ParleyError } from '../../errors.ts';
import type { Channel } from '../../jsonrpc/index.ts';
import { sseTransport } from '../sse/client.ts';
import type { AuthorizedAnswer, AuthorizedRequest, Authorizer } from './authorizer.ts';
import { httpTransport } from './client.ts';
import {
  beginStream,
  event,
  fakeServer,
  notification,
  receive,
  reply,
  request,
  sendJson,
  type Answer,
} from './fixtures/fake-server.ts';

/** Counts up: the first token is `1`, and every challenge but those in `refuse` brings the next one. */
function counting(refuse = (_: AuthorizedAnswer) => false) {
  const asked: AuthorizedRequest[] = [];
  const challenges: AuthorizedAnswer[] = [];
  const answers: AuthorizedAnswer[] = [];
  let token = 1;
  const authorizer: Authorizer = {
    headers: async (about) => {
      asked.push(about);
      return { authorization: `Bearer ${token}` };
    },
    challenged: async (answer) => {
      challenges.push(answer);
      if (refuse(answer)) return 'refused';
      token++;
      return 'again';
    },
    answered: (answer) => void answers.push(answer),
  };
  return { authorizer, asked, challenges, answers };
}

async function withServer(answer: Answer, act: (url: string, seen: () => unknown[][]) => Promise<void>): Promise<void> {
  const server = await fakeServer(answer);
  try {
    await act(server.url, () => server.seen.map(({ method, path, headers }) => [method, path, headers.authorization]));
  } finally {
    await server.close();
  }
}

async function withChannel(channel: Channel, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } finally {
    await channel.close();
  }
}

it('repeats a refused request with new credentials, and shows the refusal with what was sent', async () => {
  const answer: Answer = ({ headers, id }, response) => {
    if (headers.authorization === 'Bearer 2') return sendJson(response, reply(id));
    sendJson(response, {}, 401, { 'www-authenticate': 'Bearer scope="a"' });
  };
  await withServer(answer, async (url, seen) => {
    const { authorizer, challenges, answers } = counting();
    const channel = await httpTransport({ url, authorizer }).open();
    const received = receive(channel);
    await withChannel(channel, () => channel.send(request(1)));
    expect(received.messages).toEqual([reply(1)]);
    expect(seen()).toEqual([
      ['POST', '/mcp', 'Bearer 1'],
      ['POST', '/mcp', 'Bearer 2'],
    ]);
    expect(challenges).toMatchObject([
      { status: 401, sent: { authorization: 'Bearer 1' }, attempt: 1, by: 'user', operation: 'tools/list' },
    ]);
    expect(challenges[0]?.headers['www-authenticate']).toBe('Bearer scope="a"');
    expect(answers).toMatchObject([{ status: 200, sent: { authorization: 'Bearer 2' }, attempt: 2 }]);
  });
});

it('authorizes the standing stream, notifications and the farewell as well', async () => {
  const answer: Answer = ({ method, id, headers }, response) => {
    if (headers.authorization === 'Bearer 1' && method !== 'POST') return sendJson(response, {}, 401);
    if (method === 'GET') return beginStream(response, event({ jsonrpc: '2.0', method: 'notifications/x' }));
    if (id === undefined) return response.writeHead(202).end();
    sendJson(response, reply(id), 200, { 'mcp-session-id': 's' });
  };
  await withServer(answer, async (url, seen) => {
    const { authorizer } = counting();
    const channel = await httpTransport({ url, authorizer }).open();
    const received = receive(channel);
    await withChannel(channel, async () => {
      await channel.send(request(1, 'initialize'));
      await channel.send(notification);
      channel.adopt?.({ headers: {}, standingStream: true });
      await received.until(2);
    });
    expect(seen()).toEqual([
      ['POST', '/mcp', 'Bearer 1'],
      ['POST', '/mcp', 'Bearer 1'],
      ['GET', '/mcp', 'Bearer 1'],
      ['GET', '/mcp', 'Bearer 2'],
      ['DELETE', '/mcp', 'Bearer 2'],
    ]);
  });
});

it('is the usual fault when the authorizer refuses, its own when it throws, and an end after four repeats', async () => {
  await withServer(
    (_, response) => sendJson(response, { text: 'no' }, 403),
    async (url, seen) => {
      const outcomes: unknown[] = [];
      const failing: Authorizer = {
        headers: async () => ({}),
        challenged: async () => Promise.reject(new ParleyError('auth-required', 'Sign in first.')),
      };
      const broken: Authorizer = { headers: async () => Promise.reject(new Error('secret')), challenged: async () => 'again' };
      for (const authorizer of [counting(() => true).authorizer, failing, broken, counting().authorizer]) {
        const channel = await httpTransport({ url, authorizer }).open();
        receive(channel);
        await withChannel(channel, () =>
          channel.send(request(1)).catch((error: unknown) => {
            const { code, message, details } = error as ParleyError;
            outcomes.push([code, message.includes('secret'), details.body]);
          }),
        );
      }
      expect(outcomes).toEqual([
        ['auth-required', false, '{"text":"no"}'],
        ['auth-required', false, undefined],
        ['internal', false, undefined],
        ['auth-required', false, '{"text":"no"}'],
      ]);
      expect(seen()).toHaveLength(1 + 1 + 0 + 5);
    },
  );
});

it('asks anew for the address that a redirect leads to', async () => {
  const answer: Answer = ({ path, id }, response) => {
    if (path === '/mcp') response.writeHead(307, { location: '/other' }).end();
    else sendJson(response, reply(id));
  };
  await withServer(answer, async (url, seen) => {
    const authorizer: Authorizer = {
      headers: async ({ by }) => (by === 'redirect' ? {} : { authorization: 'Bearer 1' }),
      challenged: async () => 'refused',
    };
    const channel = await httpTransport({ url, authorizer }).open();
    receive(channel);
    await withChannel(channel, () => channel.send(request(1)));
    expect(seen()).toEqual([
      ['POST', '/mcp', 'Bearer 1'],
      ['POST', '/other', undefined],
    ]);
  });
});

it('says of an HTTP+SSE address that the server named it, and gives up with the caller', async () => {
  const answer: Answer = ({ method }, response) => {
    if (method === 'GET') beginStream(response, 'event: endpoint\ndata: /post\n\n');
    else sendJson(response, {}, 401);
  };
  await withServer(answer, async (url, seen) => {
    const { authorizer, asked } = counting();
    let reached!: () => void;
    const waiting = new Promise<void>((resolve) => (reached = resolve));
    const channel = await sseTransport({
      url,
      authorizer: {
        headers: authorizer.headers,
        challenged: () => {
          reached();
          return new Promise<never>(() => {});
        },
      },
    }).open();
    receive(channel);
    const sending = expect(channel.send(request(1))).rejects.toMatchObject({ code: 'closed' });
    await waiting;
    await channel.close();
    await sending;
    expect(asked.map(({ method, url: { pathname }, by }) => [method, pathname, by])).toEqual([
      ['GET', '/mcp', 'user'],
      ['POST', '/post', 'server'],
    ]);
    expect(seen()).toHaveLength(2);
  });
});

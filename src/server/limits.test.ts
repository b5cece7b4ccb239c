// Each bound of a server that its author can set, where it bites.
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { SERVING, servingLimit } from '../base/serving.ts';
import { isParleyError } from '../errors.ts';
import { openLine, type RawClient } from './fixtures/raw-client.ts';
import { createServer, serveHttp, type HttpServing, type Server, type ServeHttpOptions, type ServerOptions } from './index.ts';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

function serverWith(limits: Partial<ServerOptions>): Server {
  const server = createServer({
    name: 'bounded',
    version: '1',
    ...limits,
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
  });
  open.push(server);
  return server;
}

function lineTo(server: Server): RawClient {
  const client = openLine(server);
  open.push(client);
  return client;
}

const LISTEN = { notifications: { toolsListChanged: true } };

describe('the option of a server', () => {
  it('maxSubscriptionsEach bounds the subscriptions on one line', async () => {
    const server = serverWith({ maxSubscriptionsEach: 1 });
    const [client, other] = [lineTo(server), lineTo(server)];
    void client.modern('subscriptions/listen', LISTEN);
    await client.next('notifications/subscriptions/acknowledged');
    expect((await client.modern('subscriptions/listen', LISTEN)).error?.message).toContain('There may be 1 subscriptions');
    void other.modern('subscriptions/listen', LISTEN);
    await other.next('notifications/subscriptions/acknowledged');
  });

  it('maxSubscriptions bounds those of all clients', async () => {
    const server = serverWith({ maxSubscriptions: 1 });
    const [client, other] = [lineTo(server), lineTo(server)];
    void client.modern('subscriptions/listen', LISTEN);
    await client.next('notifications/subscriptions/acknowledged');
    expect((await other.modern('subscriptions/listen', LISTEN)).error?.message).toContain('There are too many subscriptions');
  });

  it('maxFollowed bounds the resources of one session, and of one subscription', async () => {
    const client = lineTo(serverWith({ maxFollowed: 1 }));
    const notifications = { resourceSubscriptions: ['a:1', 'a:2'] };
    expect((await client.modern('subscriptions/listen', { notifications })).error?.message).toContain('has more than 1 entries');
    await client.greet();
    expect(await client.ask('resources/subscribe', { uri: 'a:1' })).toMatchObject({ result: {} });
    expect((await client.ask('resources/subscribe', { uri: 'a:2' })).error?.message).toContain('There may be 1 subscribed');
  });

  it('maxAnswering bounds the requests of one line that are being answered', async () => {
    const server = serverWith({ maxAnswering: 1 });
    let release = () => {};
    server.tool({ name: 'waits' }, () => new Promise((resolve) => (release = () => resolve('done'))));
    const client = lineTo(server);
    const first = client.modern('tools/call', { name: 'waits' });
    expect((await client.modern('tools/list')).error).toBeDefined();
    release();
    expect(await first).toMatchObject({ result: { content: [{ text: 'done' }] } });
  });

  it('answerTimeoutMs bounds how long a handler waits for the client', async () => {
    const server = serverWith({ answerTimeoutMs: 20 });
    server.tool({ name: 'asks' }, (_, { listRoots }) =>
      listRoots().then(String, (error: unknown) => (isParleyError(error) ? error.code : 'another error')),
    );
    const client = lineTo(server);
    await client.greet('2025-11-25', { roots: {} });
    expect(await client.ask('tools/call', { name: 'asks' })).toMatchObject({ result: { content: [{ text: 'timeout' }] } });
  });

  it.each([0, -1, 1.5, NaN, Infinity])('must be a whole number above 0, not %d', (value) => {
    expect(() => createServer({ name: 'a', version: '1', maxFollowed: value })).toThrow(
      `maxFollowed must be a whole number above 0, not ${value}.`,
    );
  });
});

describe('the option of a server over HTTP', () => {
  async function serve(options: ServeHttpOptions): Promise<HttpServing> {
    const serving = await serveHttp(createServer({ name: 'bounded', version: '1' }), options);
    open.push(serving);
    return serving;
  }

  /** All that comes back on a connection that begins with `text`, once it is closed. */
  async function answerTo({ port }: HttpServing, text: string): Promise<string> {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let answer = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (answer += chunk));
    await new Promise((resolve) => socket.once('close', resolve));
    return answer;
  }

  const HEAD = 'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n';

  it('headersTimeoutMs bounds the arrival of headers', async () => {
    expect(await answerTo(await serve({ headersTimeoutMs: 50 }), HEAD)).toContain(' 408 ');
  });

  it('requestTimeoutMs bounds the arrival of a whole request', async () => {
    expect(await answerTo(await serve({ requestTimeoutMs: 50 }), `${HEAD}Content-Length: 10\r\n\r\n{`)).toContain(' 408 ');
  });

  it('keepAliveTimeoutMs bounds how long a connection waits for another request', async () => {
    const serving = await serve({ keepAliveTimeoutMs: 50 });
    expect(await answerTo(serving, 'PUT /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')).toContain(' 405 ');
  });

  it.each(Object.keys(SERVING).filter((name) => SERVING[name as keyof typeof SERVING].option === 'serveHttp'))(
    '%s must make sense',
    async (name) => {
      await expect(serve({ [name]: 0 })).rejects.toMatchObject({
        code: 'usage',
        message: `${name} must be a whole number above 0, not 0.`,
      });
    },
  );
});

it('A bound that nobody sets is the one of the table', () => {
  const { default: usual }: { readonly default: number } = SERVING.maxBodyBytes;
  expect(servingLimit('maxBodyBytes', undefined)).toBe(usual);
  expect(usual).toBe(4_194_304);
});

import { expect, it } from 'vitest';
import { eitherTransport } from './either.ts';
import { beginStream, fakeServer, receive, request } from './http/fixtures/fake-server.ts';

it('opens Streamable HTTP, and HTTP+SSE when asked for the older form, with the same headers', async () => {
  const server = await fakeServer(({ method, path }, response) => {
    if (method === 'GET') beginStream(response, 'event: endpoint\ndata: /post\n\n');
    else response.writeHead(path === '/post' ? 202 : 405).end();
  });
  const transport = eitherTransport({ url: `${server.url}?key=k`, headers: { 'x-key': 'k' } });
  expect([transport.kind, transport.fallback.kind]).toEqual(['http', 'sse']);
  expect(transport.fallback.target).toBe(transport.target);

  const newer = await transport.open();
  receive(newer);
  await expect(newer.send(request(1, 'initialize'))).rejects.toMatchObject({ code: 'http-status', details: { status: 405 } });
  const older = await transport.fallback.open();
  receive(older);
  await older.send(request(1, 'initialize'));
  expect(server.seen.map(({ method, path, headers }) => [method, path, headers['x-key']])).toEqual([
    ['POST', '/mcp?key=k', 'k'],
    ['GET', '/mcp?key=k', 'k'],
    ['POST', '/post', 'k'],
  ]);
  await Promise.all([newer.close(), older.close()]);
  await server.close();
});

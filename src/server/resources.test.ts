import { afterEach, describe, expect, test } from 'vitest';
import { openLine } from './fixtures/raw-client.ts';
import { createServer, ToolError, type Server, type ServerOptions } from './index.ts';

const open: Server[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.close({ graceMs: 0 }))));

function make(options: Partial<ServerOptions> = {}): Server {
  const server = createServer({ name: 'test', version: '1', ...options });
  open.push(server);
  return server;
}

const read = (server: Server, uri: unknown) => openLine(server).modern('resources/read', { uri });

describe('what is read', () => {
  test('is text, or bytes in Base64, with the type of its definition', async () => {
    const server = make();
    server.resource({ uri: 'a:text', name: 'text', mimeType: 'text/plain' }, () => 'hello');
    const bytes = new Uint8Array([0, 1, 2, 3, 250]).subarray(1);
    server.resource({ uri: 'a:bytes', name: 'bytes' }, async () => bytes);
    expect((await read(server, 'a:text')).result?.['contents']).toEqual([
      { uri: 'a:text', mimeType: 'text/plain', text: 'hello' },
    ]);
    expect((await read(server, 'a:bytes')).result?.['contents']).toEqual([{ uri: 'a:bytes', blob: 'AQID+g==' }]);
  });

  test('may be a whole result, which may say how long it is fresh', async () => {
    const server = make({ cache: { ttlMs: 1_000, scope: 'public' } });
    server.resource({ uri: 'a:b', name: 'b' }, () => ({ contents: [{ uri: 'a:b', text: 'x' }], ttlMs: 5 }));
    server.resource({ uri: 'a:c', name: 'c' }, () => 'x');
    expect((await read(server, 'a:b')).result).toMatchObject({ ttlMs: 5, cacheScope: 'public' });
    expect((await read(server, 'a:c')).result).toMatchObject({ ttlMs: 1_000, cacheScope: 'public' });
    expect((await openLine(server).modern('server/discover')).result).toMatchObject({ ttlMs: 1_000, cacheScope: 'public' });
  });

  test('that does not exist is an error with its URI, in the code of the era', async () => {
    const server = make();
    server.template({ uriTemplate: 'a:{id}', name: 'a' }, () => undefined);
    for (const uri of ['nowhere:1', 'a:1']) {
      expect((await read(server, uri)).error).toEqual({ code: -32602, message: 'Resource not found', data: { uri } });
    }
    const client = openLine(server);
    await client.greet('2025-06-18');
    expect((await client.ask('resources/read', { uri: 'a:1' })).error).toEqual({
      code: -32002,
      message: 'Resource not found',
      data: { uri: 'a:1' },
    });
    expect((await read(server, 7)).error?.code).toBe(-32602);
  });

  test('with an error keeps its text, unless it is meant for the client', async () => {
    const server = make();
    server.resource({ uri: 'a:fault', name: 'a' }, () => {
      throw new Error('secret');
    });
    server.resource({ uri: 'a:meant', name: 'b' }, () => {
      throw new ToolError('The disk is away.');
    });
    server.resource({ uri: 'a:odd', name: 'c' }, (() => 7) as never);
    expect((await read(server, 'a:fault')).error).toEqual({ code: -32603, message: 'Internal error' });
    expect((await read(server, 'a:meant')).error).toEqual({ code: -32603, message: 'The disk is away.' });
    expect((await read(server, 'a:odd')).error).toEqual({ code: -32603, message: 'Internal error' });
  });
});

describe('a template', () => {
  const echo = (server: Server, uriTemplate: string) =>
    server.template({ uriTemplate, name: uriTemplate }, (variables, _context, uri) =>
      JSON.stringify([uriTemplate, variables, uri]),
    );
  const textOf = async (server: Server, uri: string) =>
    JSON.parse(((await read(server, uri)).result?.['contents'] as { text: string }[])[0]?.text ?? '') as unknown;

  test('gives its variables decoded, and an encoded slash splits nothing', async () => {
    const server = make();
    echo(server, 'file:///{dir}/{name}');
    const uri = 'file:///a%2F..%2Fb/caf%C3%A9';
    expect(await textOf(server, uri)).toEqual(['file:///{dir}/{name}', { dir: 'a/../b', name: 'café' }, uri]);
    expect((await read(server, 'file:///a/b/c')).error?.code).toBe(-32602);
  });

  test('comes after a resource of just that URI, and before templates registered later', async () => {
    const server = make();
    echo(server, 'a:{x}');
    echo(server, 'a:{y}');
    server.resource({ uri: 'a:own', name: 'own' }, () => '["own"]');
    expect(await textOf(server, 'a:1')).toEqual(['a:{x}', { x: '1' }, 'a:1']);
    expect(await textOf(server, 'a:own')).toEqual(['own']);
  });

  test('that is none, or completes what it does not have, is refused at once', () => {
    const server = make();
    expect(() => echo(server, 'a:{')).toThrow(expect.objectContaining({ code: 'usage' }));
    expect(() => server.template({ uriTemplate: 'a:{x}', name: 'x', complete: { y: () => [] } }, () => '')).toThrow(
      expect.objectContaining({ code: 'usage' }),
    );
  });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { afterAll, describe, expect, test } from 'vitest';
import { compile } from '../transport/stdio/fixtures/compile.ts';
import { modernParams } from './fixtures/raw-client.ts';
import { createServer, serveStdio } from './index.ts';

const compiled = compile(join(import.meta.dirname, 'index.ts'));
afterAll(() => compiled.remove());

const request = (id: number, method: string, params: object) => `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;

describe('a server on standard streams', () => {
  test('answers both eras in a process of its own, writes nothing else, and ends with its client', async () => {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'fixtures', 'stdio-server.mjs'), compiled.url], {
      stdio: 'pipe',
    });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (errors += chunk));
    const lines: { id?: number; result?: unknown }[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(JSON.parse(line) as object);
      if (lines.length === 3) child.stdin.end();
    });
    child.stdin.write(request(1, 'tools/call', modernParams({ name: 'echo' })));
    child.stdin.write(request(2, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: {} }));
    child.stdin.write(request(3, 'tools/call', { name: 'echo' }));
    const [code] = (await once(child, 'close')) as [number];
    lines.sort((a, b) => Number(a.id) - Number(b.id));
    expect(lines).toMatchObject([
      { id: 1, result: { resultType: 'complete', content: [{ text: 'from the child' }] } },
      { id: 2, result: { protocolVersion: '2025-06-18', serverInfo: { name: 'child' } } },
      { id: 3, result: { content: [{ text: 'from the child' }] } },
    ]);
    expect([code, errors]).toEqual([0, 'a stray line\na stray line\nover\n']);
  });

  test('can be closed from inside', async () => {
    const input = new PassThrough();
    const output = new PassThrough();
    const server = createServer({ name: 'a', version: '1' });
    const serving = await serveStdio(server, { input, output });
    input.write(request(1, 'server/discover', modernParams()));
    const [line] = (await once(output, 'data')) as [Buffer];
    expect(JSON.parse(line.toString())).toMatchObject({ id: 1, result: { capabilities: { logging: {} } } });
    await serving.close();
    await serving.ended;
    expect(output.writableEnded).toBe(true);
  });
});

import { expect, test } from 'vitest';
import type { Problem } from '../../jsonrpc/index.ts';
import { createNdjsonDecoder, encodeLine, type Dropped, type NdjsonOptions } from './ndjson.ts';

function decode(chunks: readonly (string | Buffer)[], options?: NdjsonOptions) {
  const messages: unknown[] = [];
  const problems: (Problem & Dropped)[] = [];
  const decoder = createNdjsonDecoder(
    { message: (value) => messages.push(value), problem: (problem, dropped) => problems.push({ ...problem, ...dropped }) },
    options,
  );
  for (const chunk of chunks) decoder.push(Buffer.from(chunk));
  const { lines, partial } = decoder;
  decoder.end();
  return { messages, problems, lines, partial };
}

const ok = (id: unknown, text = '') => ({ jsonrpc: '2.0', id, result: { text } });
const line = (id: unknown, text?: string) => `${JSON.stringify(ok(id, text))}\n`;

test('several messages in one chunk arrive in order', () => {
  expect(decode([line(1) + line(2) + line(3)])).toEqual({
    messages: [ok(1), ok(2), ok(3)],
    problems: [],
    lines: 3,
    partial: false,
  });
});

test('a message cut at any byte arrives whole', () => {
  const bytes = Buffer.from(line(1, '日本 😀') + line(2));
  for (let cut = 0; cut <= bytes.length; cut++) {
    const { messages, problems } = decode([bytes.subarray(0, cut), bytes.subarray(cut)]);
    expect(messages).toEqual([ok(1, '日本 😀'), ok(2)]);
    expect(problems).toEqual([]);
  }
});

test('a message that comes byte by byte arrives whole', () => {
  const { messages } = decode([...Buffer.from(line(1, '😀') + line(2))].map((byte) => Buffer.of(byte)));
  expect(messages).toEqual([ok(1, '😀'), ok(2)]);
});

test('lines may end in CRLF, and blank lines mean nothing', () => {
  const text = `\r\n${JSON.stringify(ok(1))}\r\n\n  \t\r\n${JSON.stringify(ok(2))}\r\n`;
  for (const chunks of [[text], Array.from(text)]) {
    const { messages, problems } = decode(chunks);
    expect(messages).toEqual([ok(1), ok(2)]);
    expect(problems).toEqual([]);
  }
});

test('a byte order mark is taken off the beginning of the stream, and only there', () => {
  const mark = '\ufeff';
  expect(decode([mark + line(1)]).messages).toEqual([ok(1)]);
  expect(decode([...Buffer.from(mark + line(1))].map((byte) => Buffer.of(byte))).messages).toEqual([ok(1)]);
  expect(decode([line(1) + mark + line(2)])).toMatchObject({ messages: [ok(1)], problems: [{ kind: 'noise' }] });
});

test('text, numbers, null and log objects are noise, and the messages around them arrive', () => {
  const noise = ['Starting server…', '[INFO] {"a":1}', '42', 'null', '"x"', '{"level":"info","id":3}', '{oops', '{"jsonrpc"'];
  const { messages, problems } = decode([line(1) + noise.map((text) => `${text}\n`).join('') + line(2)]);
  expect(messages).toEqual([ok(1), ok(2)]);
  expect(problems.map(({ kind, excerpt, requestId }) => ({ kind, excerpt, requestId }))).toEqual(
    noise.map((excerpt) => ({ kind: 'noise', excerpt, requestId: undefined })),
  );
});

test('the excerpt of noise is short and says nothing in the message itself', () => {
  const [problem] = decode([`${'secret '.repeat(100)}\n`]).problems;
  expect(problem?.excerpt).toHaveLength(200);
  expect(problem?.message).not.toContain('secret');
  expect(problem?.bytes).toBe(700);
});

test('a reply that lacks its version still reaches the receiver, and so does a batch', () => {
  const text =
    '{"id":1,"result":{}}\n{"id":2,"error":{"code":1,"message":"x"}}\n[{"jsonrpc":"2.0","id":3,"result":{}}]\n{"jsonrpc":1}\n';
  expect(decode([text]).messages).toHaveLength(4);
  expect(decode([text]).problems).toEqual([]);
});

test('strays are handed on where they are asked for', () => {
  const { messages, problems } = decode(['{"id":1,"method":"x"}\n42\n'], { strays: 'deliver' });
  expect(messages).toEqual([{ id: 1, method: 'x' }]);
  expect(problems).toMatchObject([{ kind: 'noise', excerpt: '42' }]);
});

test('a broken answer names the request that waits for it, a broken question the one to refuse', () => {
  const { problems } = decode(['{"jsonrpc":"2.0","id":5,"result":{"a":}}\n{"jsonrpc":"2.0","id":6,"method":"x","params":{]}\n']);
  expect(problems).toMatchObject([
    { kind: 'malformed', requestId: 5 },
    { kind: 'malformed', asks: 6 },
  ]);
  expect(problems[1]).not.toHaveProperty('requestId');
});

test('invalid UTF-8 costs its own line alone and is never replaced in silence', () => {
  const bad = Buffer.concat([
    Buffer.from('{"jsonrpc":"2.0","id":2,"result":{"x":"'),
    Buffer.of(0xff, 0xfe),
    Buffer.from('"}}\n'),
  ]);
  const all = Buffer.concat([Buffer.from(line(1)), bad, Buffer.from(line(3))]);
  for (const chunks of [[all], [...all].map((byte) => Buffer.of(byte))]) {
    const { messages, problems, lines } = decode(chunks);
    expect(messages).toEqual([ok(1), ok(3)]);
    expect(problems).toMatchObject([{ kind: 'malformed', requestId: 2 }]);
    expect(lines).toBe(3);
  }
});

test('lone surrogate escapes, NUL escapes and line separators are decoded exactly', () => {
  const text = '{"jsonrpc":"2.0","id":1,"result":{"a":"\\ud800","b":"\\u0000","c":"\u2028\u2029"}}\n';
  expect(decode([text]).messages).toEqual([{ jsonrpc: '2.0', id: 1, result: { a: '\ud800', b: '\0', c: '\u2028\u2029' } }]);
});

test('a line at the cap passes and one byte more is dropped with the id of its request', () => {
  const text = line(1, 'x'.repeat(100));
  const size = text.length - 1;
  for (const chunks of [[text + line(2)], Array.from(text + line(2))]) {
    expect(decode(chunks, { maxLineBytes: size }).messages).toEqual([ok(1, 'x'.repeat(100)), ok(2)]);
    const { messages, problems } = decode(chunks, { maxLineBytes: size - 1 });
    expect(messages).toEqual([ok(2)]);
    expect(problems).toMatchObject([{ kind: 'oversized', requestId: 1 }]);
  }
});

test('an oversized reply that carries its id last is attributed at its end', () => {
  const text = `{"result":{"id":5,"text":"${'x'.repeat(500)}"},"jsonrpc":"2.0","id":"a"}\n`;
  for (const chunks of [[text], text.match(/.{1,7}\n?/gs) as string[]]) {
    expect(decode(chunks, { maxLineBytes: 100 }).problems).toMatchObject([{ kind: 'oversized', requestId: 'a' }]);
  }
});

test('an oversized request or log line names no waiting request', () => {
  const request = `{"jsonrpc":"2.0","id":5,"method":"x","params":{"text":"${'x'.repeat(500)}"}}\n`;
  const { problems } = decode([`${request}${'z'.repeat(500)}\n`], { maxLineBytes: 100 });
  expect(problems).toMatchObject([{ kind: 'oversized', asks: 5 }, { kind: 'oversized' }]);
  for (const problem of problems) expect(problem).not.toHaveProperty('requestId');
});

test('an oversized line is reported while it still grows, once, and keeps nothing of it', () => {
  const problems: Problem[] = [];
  const decoder = createNdjsonDecoder(
    { message: () => {}, problem: (problem) => problems.push(problem) },
    { maxLineBytes: 65_536 },
  );
  const chunk = Buffer.alloc(65_536, 'x');
  const before = process.memoryUsage().arrayBuffers;
  for (let sent = 0; sent < 3_000; sent++) decoder.push(chunk);
  expect(problems).toHaveLength(1);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1_048_576);
  decoder.push(Buffer.from('\n'));
  expect(problems).toHaveLength(1);
  expect(decoder.partial).toBe(false);
});

test('a message of several megabytes in small pieces takes linear time', () => {
  const text = Buffer.from(line(1, 'x'.repeat(4 * 1_048_576)));
  let messages = 0;
  const decoder = createNdjsonDecoder({ message: () => messages++, problem: () => {} });
  const started = process.cpuUsage();
  for (let at = 0; at < text.length; at += 16) decoder.push(text.subarray(at, at + 16));
  const { user, system } = process.cpuUsage(started);
  expect(messages).toBe(1);
  // Copying all of it for every piece would take minutes.
  expect(user + system).toBeLessThan(10_000_000);
});

test('a last line without its newline is decoded at the end', () => {
  expect(decode([line(1).trimEnd()])).toMatchObject({ messages: [ok(1)], partial: true });
});

test('a message that breaks off at the end is left to the end itself to explain', () => {
  const { messages, problems } = decode(['{"jsonrpc":"2.0","id":1,"result":{"te']);
  expect(messages).toEqual([]);
  expect(problems).toHaveLength(1);
  expect(problems[0]).not.toHaveProperty('requestId');
});

test('a message is written as one line, whatever text it holds', () => {
  const text = encodeLine({ jsonrpc: '2.0', id: 1, result: { text: 'a\nb\r\u2028\u0000' } });
  expect(text.indexOf('\n')).toBe(text.length - 1);
  expect(decode([text]).messages).toEqual([{ jsonrpc: '2.0', id: 1, result: { text: 'a\nb\r\u2028\u0000' } }]);
});

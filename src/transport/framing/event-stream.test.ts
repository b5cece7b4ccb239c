import { describe, expect, it } from 'vitest';
import { isParleyError } from '../../errors.ts';
import { encodeEvent, EventStreamDecoder, keepAliveComment, type EventStreamLimits, type StreamEvent } from './event-stream.ts';

function decode(chunks: (string | Uint8Array)[], limits?: EventStreamLimits) {
  const events: StreamEvent[] = [];
  const decoder = new EventStreamDecoder((event) => events.push(event), limits);
  for (const chunk of chunks) decoder.push(chunk);
  decoder.end();
  return { events, decoder };
}

const texts = (chunks: (string | Uint8Array)[]) => decode(chunks).events.map((event) => event.data);

function limitOf(act: () => unknown): string | undefined {
  try {
    act();
  } catch (error) {
    if (isParleyError(error, 'limit')) return error.details.limit;
    throw error;
  }
  return undefined;
}

describe('the event stream decoder', () => {
  it('ends lines at LF, CRLF and CR alike', () => {
    for (const end of ['\n', '\r\n', '\r']) {
      expect(texts([`event: message${end}data: one${end}${end}data: two${end}${end}`])).toEqual(['one', 'two']);
    }
  });

  it('takes CR and LF in two chunks for one line end', () => {
    expect(texts(['data: one\r', '\ndata: two\r', '\n\r', '\n'])).toEqual(['one\ntwo']);
  });

  it('delivers an event at the CR of its blank line, without waiting for the LF', () => {
    const events: StreamEvent[] = [];
    const decoder = new EventStreamDecoder((event) => events.push(event));
    decoder.push('data: now\r\n\r');
    expect(events).toEqual([{ event: 'message', data: 'now' }]);
    decoder.push('\ndata: next\r\n\r\n');
    expect(events.map((event) => event.data)).toEqual(['now', 'next']);
  });

  it('joins data lines with line feeds and takes one space after the colon away', () => {
    expect(texts(['data: {"a":\ndata:  1\ndata:}\n\n'])).toEqual(['{"a":\n 1\n}']);
  });

  it('puts characters together that were cut at any byte', () => {
    const bytes = Buffer.from('data: 世界 🜁 é\n\n');
    const single = [...bytes].map((byte) => Uint8Array.of(byte));
    expect(texts(single)).toEqual(['世界 🜁 é']);
  });

  it('replaces bytes that are not UTF-8 and goes on', () => {
    expect(texts([Buffer.from([...Buffer.from('data: '), 0xff, 0xfe]), '\n\ndata: good\n\n'])).toEqual(['��', 'good']);
  });

  it('ignores comments before, between and inside events', () => {
    expect(texts([keepAliveComment, ':\r\ndata: a\n: inside\ndata: b\n\n', ':\n\n'])).toEqual(['a\nb']);
  });

  it('strips one byte order mark at the start, also when it is cut', () => {
    expect(texts(['\uFEFFdata: a\n\n'])).toEqual(['a']);
    expect(texts([Uint8Array.of(0xef), Uint8Array.of(0xbb, 0xbf), 'data: a\n\n'])).toEqual(['a']);
    expect(texts(['\uFEFF\uFEFFdata: a\n\n'])).toEqual([]);
  });

  it('gives the name and the id with the event, and keeps the id for resuming', () => {
    const { events, decoder } = decode(['id: 7\nevent: endpoint\ndata: /x\n\ndata: plain\n\n']);
    expect(events).toEqual([
      { event: 'endpoint', data: '/x', id: '7' },
      { event: 'message', data: 'plain' },
    ]);
    expect(decoder.lastEventId).toBe('7');
  });

  it('delivers empty data, remembers the id of an event without data, and lets an empty id reset it', () => {
    const { events, decoder } = decode(['id: prime\ndata:\n\nid: only\n\n']);
    expect(events).toEqual([{ event: 'message', data: '', id: 'prime' }]);
    expect(decoder.lastEventId).toBe('only');
    decoder.push('id\ndata: x\n\n');
    expect(decoder.lastEventId).toBe('');
  });

  it('does not take the id of an event that never ended', () => {
    expect(decode(['id: 1\ndata: a\n\nid: 2\n']).decoder.lastEventId).toBe('1');
    expect(decode(['id: 1\ndata: a\n\nid: 2']).decoder.lastEventId).toBe('1');
  });

  it('ignores an id with a NUL in it', () => {
    expect(decode(['id: a\0b\ndata: x\n\n']).events).toEqual([{ event: 'message', data: 'x' }]);
  });

  it('takes retry from digits only, as sent', () => {
    const retries = ['0', '99999999999', '-1', 'abc', '1.5', '', '500 '].map(
      (value) => decode([`retry: ${value}\n\n`]).decoder.retry,
    );
    expect(retries).toEqual([0, 99_999_999_999, undefined, undefined, undefined, undefined, undefined]);
    expect(decode(['retry: 500\nretry: x\n']).decoder.retry).toBe(500);
  });

  it('ignores fields it does not know, and events without data', () => {
    expect(texts(['dat: a\ndatax: b\ndata\0: c\nevent: empty\n\ndata: d\n\n'])).toEqual(['d']);
    // The name of the event without data does not stick to the next one.
    expect(decode(['event: empty\n\ndata: d\n\n']).events).toEqual([{ event: 'message', data: 'd' }]);
  });

  it('delivers a last event without its blank line when its data is whole JSON', () => {
    expect(texts(['data: {"id":1}\n'])).toEqual(['{"id":1}']);
    expect(texts(['data: {"id":1}'])).toEqual(['{"id":1}']);
    expect(texts(['data: {"id":\ndata: 1}'])).toEqual(['{"id":\n1}']);
  });

  it('drops a last event whose data may be cut short', () => {
    expect(texts(['data: {"id":1'])).toEqual([]);
    expect(texts(['data: 12'])).toEqual([]);
    expect(texts(['data: null\n'])).toEqual([]);
    expect(texts(['dat'])).toEqual([]);
  });

  it('reads a long line whole and in pieces of one byte', () => {
    const text = 'x'.repeat(200_000);
    expect(texts([`data: ${text}\n\n`])[0]).toHaveLength(200_000);
    const decoder = new EventStreamDecoder((event) => expect(event.data).toHaveLength(200_000));
    for (const byte of Buffer.from(`data: ${text}\n\n`)) decoder.push(Uint8Array.of(byte));
    expect.assertions(2);
  });

  it('stops at lines, events, ids and names that are too long', () => {
    const limits = { maxLineBytes: 100, maxEventBytes: 150 };
    expect(limitOf(() => decode(['x'.repeat(101)], limits))).toBe('maxMessageBytes');
    expect(limitOf(() => decode(['x'.repeat(60), 'x'.repeat(60)], limits))).toBe('maxMessageBytes');
    expect(limitOf(() => decode([`${'x'.repeat(101)}\n`], limits))).toBe('maxMessageBytes');
    expect(limitOf(() => decode([`data: ${'x'.repeat(80)}\n`.repeat(2)], limits))).toBe('maxMessageBytes');
    expect(limitOf(() => decode(['data\n'.repeat(152)], limits))).toBe('maxMessageBytes');
    expect(limitOf(() => decode([`id: ${'x'.repeat(1_025)}\n`]))).toBe('maxEventId');
    expect(limitOf(() => decode([`event: ${'x'.repeat(129)}\n`]))).toBe('maxEventName');
    expect(limitOf(() => decode([`data: ${'x'.repeat(94)}\n\n`, `id: ${'x'.repeat(90)}\n\n`], limits))).toBeUndefined();
  });
});

describe('the event stream encoder', () => {
  it('writes every field it is given, and the blank line', () => {
    expect(encodeEvent({ event: 'message', id: 'a-1', retry: 500, data: '{"a":1}' })).toBe(
      'event: message\nid: a-1\nretry: 500\ndata: {"a":1}\n\n',
    );
    expect(encodeEvent({ id: 'prime', data: '' })).toBe('id: prime\ndata: \n\n');
  });

  it('splits data at every kind of line end', () => {
    expect(encodeEvent({ data: 'a\nb\r\nc\rd' })).toBe('data: a\ndata: b\ndata: c\ndata: d\n\n');
  });

  it('refuses names and ids that would break out of their line', () => {
    for (const bad of ['a\nb', 'a\rb', 'a\0b']) {
      expect(() => encodeEvent({ event: bad, data: '' })).toThrow(/line end/);
      expect(() => encodeEvent({ id: bad, data: '' })).toThrow(/line end/);
    }
    expect(() => encodeEvent({ retry: 1.5, data: '' })).toThrow(/whole number/);
  });
});

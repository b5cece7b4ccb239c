import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeEvent, EventStreamDecoder, type StreamEvent } from './event-stream.ts';

const line = fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => text.replace(/[\r\n\0]/g, ' '));
const sent = fc.record(
  {
    data: fc.oneof(fc.string({ unit: 'grapheme' }), fc.json()),
    event: line.filter((name) => name !== '' && Buffer.byteLength(name) <= 128),
    id: line,
    retry: fc.nat(),
  },
  { requiredKeys: ['data'] },
);

/** Cuts `bytes` at the given places. */
function cut(bytes: Buffer, places: number[]): Buffer[] {
  const sorted = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...sorted, bytes.length].map((end, at) => bytes.subarray(sorted[at - 1] ?? 0, end));
}

function decode(chunks: Buffer[]): { events: StreamEvent[]; lastEventId: string | undefined; retry: number | undefined } {
  const events: StreamEvent[] = [];
  const decoder = new EventStreamDecoder((event) => events.push(event));
  for (const chunk of chunks) decoder.push(chunk);
  decoder.end();
  return { events, lastEventId: decoder.lastEventId, retry: decoder.retry };
}

it('what was encoded is decoded, whatever the line ends and wherever the bytes are cut', () => {
  fc.assert(
    fc.property(fc.array(sent), fc.constantFrom('\n', '\r\n', '\r'), fc.array(fc.nat()), (events, end, places) => {
      const wire = Buffer.from(
        events
          .map((event) => encodeEvent(event))
          .join('')
          .replaceAll('\n', end),
      );
      const { events: received, lastEventId, retry } = decode(cut(wire, places));
      expect(received).toEqual(
        events.map(({ data, event, id }) => ({
          event: event ?? 'message',
          data: data.replace(/\r\n|\r/g, '\n'),
          ...(id === undefined ? {} : { id }),
        })),
      );
      expect(lastEventId).toBe(events.findLast((event) => event.id !== undefined)?.id);
      expect(retry).toBe(events.findLast((event) => event.retry !== undefined)?.retry);
    }),
  );
});

it('any bytes are decoded the same whether they come whole or in pieces', () => {
  const piece = fc.oneof(
    fc.constantFrom('data', ':', ' ', '\n', '\r', '\r\n', 'id', 'event', 'retry', '12', '{}', '\uFEFF', '\0'),
    fc.string({ unit: 'grapheme', maxLength: 3 }),
  );
  const bytes = fc.oneof(
    fc.array(piece).map((pieces) => Buffer.from(pieces.join(''))),
    fc.uint8Array().map((array) => Buffer.from(array)),
  );
  fc.assert(
    fc.property(bytes, fc.array(fc.nat()), (wire, places) => {
      expect(decode(cut(wire, places))).toEqual(decode([wire]));
    }),
  );
});

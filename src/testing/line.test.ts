import { expect, test } from 'vitest';
import { ParleyError } from '../errors.ts';
import type { Receiver } from '../jsonrpc/index.ts';
import { createScriptedLine } from './line.ts';

function listen(): Receiver & { readonly heard: unknown[] } {
  const heard: unknown[] = [];
  return {
    heard,
    message: (value) => heard.push(value),
    problem: ({ kind }) => heard.push(kind),
    end: ({ by }) => heard.push(by),
  };
}

const note = (method: string) => ({ jsonrpc: '2.0', method }) as const;

test('what arrives before the start is delivered first and in order, and nothing after the end', () => {
  const line = createScriptedLine();
  const receiver = listen();
  line.deliver('early');
  line.problem({ kind: 'noise', message: 'Noise.' });
  line.channel.start(receiver);
  line.deliver('late');
  line.end();
  line.deliver('too late');
  line.end();
  expect(receiver.heard).toEqual(['early', 'noise', 'late', 'lost']);
});

test('next gives each message that was sent once, waits for one to come, and rejects when the line ends first', async () => {
  const line = createScriptedLine();
  await line.channel.send(note('a'));
  const [a, b, none] = [line.next(), line.next(), line.next()];
  await line.channel.send(note('b'));
  line.end(new ParleyError('server-stopped', 'Gone.'));
  expect(await a).toEqual(note('a'));
  expect(await b).toEqual(note('b'));
  await expect(none).rejects.toMatchObject({ code: 'server-stopped' });
  await expect(line.next()).rejects.toMatchObject({ code: 'server-stopped' });
  await expect(line.channel.send(note('c'))).rejects.toMatchObject({ code: 'server-stopped' });
  expect(line.sent).toEqual([note('a'), note('b')]);
});

test('closing it is told as closed, once', async () => {
  const line = createScriptedLine();
  const receiver = listen();
  line.channel.start(receiver);
  await line.channel.close();
  await line.channel.close();
  line.end();
  expect(receiver.heard).toEqual(['closed']);
});

test('only an http line has exchanges to drop and terms to adopt', () => {
  const { channel } = createScriptedLine();
  expect([channel.abandon, channel.dismiss, channel.adopt]).toEqual([undefined, undefined, undefined]);
  const http = createScriptedLine({ kind: 'http' });
  const terms = { headers: { 'x-session': '1' }, standingStream: true };
  http.channel.abandon?.(1);
  http.channel.dismiss?.('a');
  http.channel.adopt?.(terms);
  expect([http.abandoned, http.dismissed, http.terms]).toEqual([[1], ['a'], terms]);
});

import { afterEach, describe, expect, it } from 'vitest';
import { ParleyError } from '../../errors.ts';
import { connect, type Session } from '../../client/index.ts';
import type { Transport } from '../../jsonrpc/index.ts';
import { createFakeClock, createScriptedLine, type ScriptedLine } from '../../testing/index.ts';
import { Connection } from './connection.ts';

const settle = async () => {
  for (let turn = 0; turn < 10; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
};

/** A server that answers discovery, and `methods` as long as it is well. */
function fakeServer() {
  const lines: ScriptedLine[] = [];
  const state = { well: true, opens: 0, refuse: undefined as Error | undefined };
  const transport: Transport = {
    target: 'fake',
    kind: 'memory',
    async open() {
      state.opens++;
      if (state.refuse !== undefined) throw state.refuse;
      const line = createScriptedLine({
        onSend(message) {
          if (!state.well || !('id' in message) || !('method' in message)) return;
          const { id, method } = message;
          const result = method === 'server/discover' ? { supportedVersions: ['2026-07-28'], capabilities: {} } : { content: [] };
          line.deliver({ jsonrpc: '2.0', id, result });
        },
      });
      lines.push(line);
      return line.channel;
    },
  };
  return { transport, state, lines };
}

const open: Connection[] = [];
afterEach(async () => {
  for (const connection of open.splice(0)) await connection.close();
});

function hold(server: ReturnType<typeof fakeServer>) {
  const clock = createFakeClock();
  const connection = new Connection({
    name: 's',
    clock,
    random: () => 0,
    open: (options) => connect(server.transport, { ...options, clock }),
  });
  open.push(connection);
  return { clock, connection };
}

describe('a connection', () => {
  it('connects when a session is wanted, and once for all who want it', async () => {
    const server = fakeServer();
    const { connection } = hold(server);
    expect(connection.state.type).toBe('idle');
    const sessions = await Promise.all([connection.session(), connection.session()]);
    expect(sessions[0]).toBe(sessions[1]);
    expect(server.state.opens).toBe(1);
  });

  it('connects again after a loss: by itself after the back-off, at once for a call', async () => {
    const server = fakeServer();
    const { connection, clock } = hold(server);
    const first = await connection.session();
    server.lines[0]?.end();
    await settle();
    expect(connection.state).toMatchObject({
      type: 'waiting',
      error: { code: 'server-stopped', message: expect.stringContaining('"s"') as string },
    });
    const second = await connection.session();
    expect(second).not.toBe(first);
    server.lines[1]?.end();
    await settle();
    clock.advance(1_000);
    await settle();
    expect(connection.state.type).toBe('ready');
    expect(server.state.opens).toBe(3);
  });

  it('says why a server cannot be used, and tries again on demand where time may mend it', async () => {
    const server = fakeServer();
    server.state.refuse = new ParleyError('unreachable', 'refused');
    const { connection } = hold(server);
    await expect(connection.session()).rejects.toMatchObject({ code: 'unreachable', details: { server: 's' } });
    server.state.refuse = undefined;
    await expect(connection.session()).resolves.toMatchObject({ era: 'modern' });
    server.state.refuse = new ParleyError('version-unsupported', 'no');
    await connection.restart();
    await settle();
    expect(connection.state.type).toBe('failed');
    await expect(connection.session()).rejects.toMatchObject({ code: 'version-unsupported' });
    expect(server.state.opens).toBe(3);
  });

  it('waits for a sign-in without a timer, and looks once for all calls that need the server', async () => {
    const server = fakeServer();
    server.state.refuse = new ParleyError('auth-required', 'Server "s": sign in.', { details: { challenge: 'Bearer x' } });
    const { connection, clock } = hold(server);
    connection.start();
    await settle();
    expect(connection.state).toMatchObject({
      type: 'needs-auth',
      error: { message: 'Server "s": sign in.', details: { server: 's', challenge: 'Bearer x' } },
    });
    clock.advance(3_600_000);
    await settle();
    expect([server.state.opens, clock.waiting]).toEqual([1, 0]);
    const refused = await Promise.allSettled([connection.session(), connection.session()]);
    expect(refused.map((each) => each.status === 'rejected' && (each.reason as ParleyError).code)).toEqual([
      'auth-required',
      'auth-required',
    ]);
    expect(server.state.opens).toBe(2);
    server.state.refuse = undefined;
    await expect(connection.session()).resolves.toMatchObject({ era: 'modern' });
  });

  it('still says why it failed while it tries again', async () => {
    const server = fakeServer();
    const { connection } = hold(server);
    server.state.refuse = new ParleyError('unreachable', 'Nobody there.');
    await expect(connection.session()).rejects.toMatchObject({ code: 'unreachable' });
    const again = connection.session();
    expect(connection.state).toMatchObject({ type: 'connecting', attempt: 2, error: { code: 'unreachable' } });
    await expect(again).rejects.toMatchObject({ code: 'unreachable' });
  });

  it('takes a server for lost that misses two health checks', async () => {
    const server = fakeServer();
    const { connection, clock } = hold(server);
    await connection.session();
    server.state.well = false;
    for (const expected of ['ready', 'waiting']) {
      clock.advance(30_000);
      await settle();
      clock.advance(10_000);
      await settle();
      expect(connection.state.type).toBe(expected);
    }
  });

  it('goes on when health checks are answered', async () => {
    const server = fakeServer();
    const { connection, clock } = hold(server);
    const session: Session = await connection.session();
    for (let check = 0; check < 5; check++) {
      clock.advance(30_000);
      await settle();
    }
    expect(connection.state).toMatchObject({ type: 'ready', session });
    expect(server.lines[0]?.sent).toHaveLength(6);
  });

  it('is not disturbed by the end of a session it no longer holds', async () => {
    const server = fakeServer();
    const { connection } = hold(server);
    await connection.session();
    await connection.restart();
    const second = await connection.session();
    await settle();
    expect(connection.state).toMatchObject({ type: 'ready', session: second });
  });

  it('stops waiting when the one who waits gives up', async () => {
    const server = fakeServer();
    server.state.well = false;
    const { connection } = hold(server);
    const stop = new AbortController();
    const waiting = connection.session({ signal: stop.signal });
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
  });

  it('closes in every state, and leaves no timer', async () => {
    for (const prepare of ['idle', 'connecting', 'ready', 'waiting'] as const) {
      const server = fakeServer();
      const { connection, clock } = hold(server);
      if (prepare === 'connecting') server.state.well = false;
      if (prepare !== 'idle') connection.start();
      await settle();
      if (prepare === 'waiting') server.lines[0]?.end();
      await settle();
      expect(connection.state.type).toBe(prepare);
      await connection.close();
      expect(connection.state.type).toBe('closed');
      await settle();
      expect([prepare, clock.waiting]).toEqual([prepare, 0]);
      await expect(connection.session()).rejects.toMatchObject({ code: 'closed' });
    }
  });
});

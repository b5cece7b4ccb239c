// Whatever the far end does, in any order, with losses and doubles: each request ends once, as the first thing that could
// end it says, and every reply is counted in exactly one place.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ParleyError } from '../errors.ts';
import { createFakeClock, createScriptedLine } from '../testing/index.ts';
import { conventions, progress, result } from './fixtures/conventions.ts';
import { createPeer, type PeerStats } from './peer.ts';

const TIMEOUT_MS = 50;
const MAX_MS = 120;

type Step =
  | { readonly do: 'ask' }
  | { readonly do: 'abort'; readonly which: number }
  | { readonly do: 'result' | 'error' | 'garbage'; readonly which: number }
  | { readonly do: 'progress'; readonly which: number; readonly at: number }
  | { readonly do: 'stray'; readonly id: string | number }
  | { readonly do: 'wait'; readonly ms: number };

const which = fc.nat({ max: 7 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ do: 'ask' as const }) },
  fc.record({ do: fc.constant('abort' as const), which }),
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('result' as const, 'error' as const, 'garbage' as const), which }) },
  fc.record({ do: fc.constant('progress' as const), which, at: fc.nat({ max: 5 }) }),
  fc.record({
    do: fc.constant('stray' as const),
    id: fc.oneof(
      fc.string(),
      fc.nat().map((id) => -id),
      fc.constantFrom('1', '2'),
    ),
  }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.nat({ max: 60 }) }),
);

/** What must become of each request, told by a few lines that share nothing with the peer. */
class Model {
  readonly outcomes: string[] = [];
  readonly heard: number[][] = [];
  readonly stats: PeerStats = { stale: 0, duplicate: 0, unknown: 0, invalid: 0, progress: 0, flooded: 0 };
  readonly #open = new Map<number, { dueAt: number; endsAt: number }>();
  readonly #stale = new Set<number>();
  #now = 0;

  get told(): number {
    return this.outcomes.filter((outcome) => outcome === 'aborted' || outcome === 'timeout').length;
  }

  take(step: Step): void {
    const k = 'which' in step ? step.which : -1;
    switch (step.do) {
      case 'ask':
        this.#open.set(this.outcomes.length, { dueAt: this.#now + TIMEOUT_MS, endsAt: this.#now + MAX_MS });
        this.outcomes.push('server-stopped');
        this.heard.push([]);
        return;
      case 'abort':
        if (this.#end(k, 'aborted')) this.#stale.add(k);
        return;
      case 'wait':
        this.#now += step.ms;
        for (const [index, { dueAt }] of this.#open)
          if (dueAt <= this.#now && this.#end(index, 'timeout')) this.#stale.add(index);
        return;
      case 'stray':
        this.stats.unknown++;
        return;
      case 'progress': {
        const entry = this.#open.get(k);
        if (entry === undefined || step.at <= (this.heard[k]?.at(-1) ?? -1)) this.stats.progress++;
        else {
          this.heard[k]?.push(step.at);
          entry.dueAt = Math.min(this.#now + TIMEOUT_MS, entry.endsAt);
        }
        return;
      }
      case 'garbage':
        this.stats.invalid++;
        this.#end(k, 'protocol-violation');
        return;
      case 'result':
      case 'error':
        if (this.#end(k, step.do)) return;
        if (this.#stale.delete(k)) this.stats.stale++;
        else if (k < this.outcomes.length) this.stats.duplicate++;
        else this.stats.unknown++;
    }
  }

  #end(k: number, outcome: string): boolean {
    if (!this.#open.delete(k)) return false;
    this.outcomes[k] = outcome;
    return true;
  }
}

test('every request ends as the model says, under any order, loss and doubling', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const model = new Model();
      const clock = createFakeClock();
      const line = createScriptedLine();
      const peer = createPeer(line.channel, { conventions, clock, timeoutMs: TIMEOUT_MS, maxMs: MAX_MS });
      const controllers: AbortController[] = [];
      const heard: number[][] = [];
      const outcomes: Promise<string>[] = [];

      const take = (step: Step): void => {
        const id = 'which' in step ? step.which + 1 : 0;
        switch (step.do) {
          case 'ask': {
            const controller = new AbortController();
            const news: number[] = [];
            const asked = peer.request('m', undefined, { signal: controller.signal, onProgress: (at) => news.push(at.progress) });
            outcomes.push(
              asked.then(
                () => 'result',
                (error: unknown) => (error instanceof ParleyError ? error.code : 'error'),
              ),
            );
            controllers.push(controller);
            heard.push(news);
            return;
          }
          case 'abort':
            return controllers[step.which]?.abort();
          case 'wait':
            return clock.advance(step.ms);
          case 'stray':
            return line.deliver(result(step.id));
          case 'progress':
            return line.deliver(progress(id, step.at));
          case 'garbage':
            return line.deliver({ jsonrpc: '2.0', id });
          case 'result':
            return line.deliver(result(id));
          case 'error':
            return line.deliver({ jsonrpc: '2.0', id, error: { code: 1, message: 'no' } });
        }
      };

      for (const each of steps) {
        take(each);
        model.take(each);
      }
      line.end();
      expect(await Promise.all(outcomes)).toEqual(model.outcomes);
      expect(heard).toEqual(model.heard);
      expect(peer.stats).toEqual(model.stats);
      expect(line.sent.filter((message) => 'method' in message && message.method === 'stop')).toHaveLength(model.told);
      expect(peer.inFlight).toBe(0);
      expect(clock.waiting).toBe(0);
    }),
    { numRuns: 500 },
  );
});

test('a peer survives any value that arrives, and still answers and is answered afterwards', async () => {
  const member = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom('2.0', 'm', 'stop', 'progress', 1, 2));
  const message = fc.record(
    { jsonrpc: fc.constantFrom('2.0', '1.0'), id: member, method: member, params: member, result: member, error: member },
    { requiredKeys: ['jsonrpc'] },
  );
  const arrival = fc.oneof(message, fc.array(message, { maxLength: 3 }), fc.jsonValue());
  await fc.assert(
    fc.asyncProperty(fc.array(arrival, { maxLength: 20 }), async (arrivals) => {
      const line = createScriptedLine();
      const peer = createPeer(line.channel, { conventions, onRequest: () => ({}), maxAnswering: 1_000 });
      for (const value of arrivals) line.deliver(value);
      const asked = peer.request('m');
      line.deliver(result(1, 'here'));
      expect(await asked).toEqual({ value: 'here' });
      line.deliver({ jsonrpc: '2.0', id: 'last', method: 'm' });
      let answer = await line.next();
      while (!('id' in answer && answer.id === 'last')) answer = await line.next();
      expect(answer).toMatchObject({ result: {} });
      await peer.close();
    }),
    { numRuns: 300 },
  );
});

import { describe, expect, it } from 'vitest';
import { isParleyError, ParleyError } from '../../errors.ts';
import { createFakeClock } from '../../testing/index.ts';
import { denyAll, type ApprovalRequest, type ApprovalScope, type Approver, type Verdict } from './approver.ts';
import { createIntent } from './intent.ts';
import { queueApprover, type QueueOptions } from './queue.ts';

const ONCE: Verdict = { type: 'allow', scope: 'once' };
const RUN: Verdict = { type: 'allow', scope: 'run' };
const NO: Verdict = { type: 'deny', by: 'person' };

function request(
  tool: string,
  { server = 'files', widest = 'run', description = '' }: { server?: string; widest?: ApprovalScope; description?: string } = {},
): ApprovalRequest {
  const intent = createIntent({ server, tool: { name: tool, description, inputSchema: {} }, args: {} });
  return { intent, because: 'No rule covers the tool.', trusted: false, widest };
}

interface Shown {
  readonly tool: string;
  readonly signal: AbortSignal;
  readonly answer: (verdict: Verdict) => void;
  readonly fail: (error: Error) => void;
}

/** A person in front of a queue: sees one question after the other and answers when the test says so. */
function desk(options: QueueOptions = {}) {
  const shown: Shown[] = [];
  const waiting: (() => void)[] = [];
  const allowed = new Set<string>();
  const person: Approver = {
    ask: ({ intent }, { signal } = {}) =>
      new Promise((answer, fail) => {
        const answered = (verdict: Verdict) => {
          if (verdict === RUN) allowed.add(intent.definitionDigest);
          answer(verdict);
        };
        shown.push({ tool: intent.tool, signal: signal as AbortSignal, answer: answered, fail });
        for (const wake of waiting.splice(0)) wake();
      }),
  };
  const clock = createFakeClock();
  const approver = queueApprover(person, async ({ definitionDigest }) => allowed.has(definitionDigest), { clock, ...options });
  return {
    clock,
    shown,
    ask: (...args: Parameters<Approver['ask']>) => approver.ask(...args),
    /** The question that was shown as number `count`, counted from 1. */
    async question(count: number): Promise<Shown> {
      while (shown.length < count) await new Promise<void>((resolve) => waiting.push(resolve));
      return shown[count - 1] as Shown;
    },
  };
}

describe('questions in a queue', () => {
  it('are shown one at a time, in order', async () => {
    const { ask, question, shown } = desk();
    const verdicts = ['a', 'b', 'c'].map((tool) => ask(request(tool)));
    (await question(1)).answer(ONCE);
    expect(await verdicts[0]).toEqual(ONCE);
    const second = await question(2);
    expect(shown.map(({ tool }) => tool)).toEqual(['a', 'b']);
    second.answer(NO);
    (await question(3)).answer(ONCE);
    expect(await Promise.all(verdicts)).toEqual([ONCE, NO, ONCE]);
    expect(shown.map(({ tool }) => tool)).toEqual(['a', 'b', 'c']);
  });

  it('are taken down, and denied, after five minutes; the next has its full time', async () => {
    const { ask, question, clock } = desk();
    const first = ask(request('a'));
    const second = ask(request('b'));
    const { signal } = await question(1);
    clock.advance(299_999);
    expect(signal.aborted).toBe(false);
    clock.advance(1);
    expect(await first).toEqual({ type: 'deny', by: 'timeout', message: 'Nobody answered within 300 s.' });
    expect(signal.aborted).toBe(true);
    const next = await question(2);
    clock.advance(299_999);
    next.answer(ONCE);
    expect(await second).toEqual(ONCE);
    expect(clock.waiting).toBe(0);
  });

  it('do not heed an answer that comes too late', async () => {
    const { ask, question, clock } = desk();
    const first = ask(request('a'));
    const late = await question(1);
    clock.advance(300_000);
    late.answer(ONCE);
    expect(await first).toMatchObject({ by: 'timeout' });
  });

  it('are taken back when the caller gives up, shown or not, and the others go on', async () => {
    const { ask, question, shown, clock } = desk();
    const [one, two] = [new AbortController(), new AbortController()];
    const first = ask(request('a'), { signal: one.signal });
    const second = ask(request('b'), { signal: two.signal });
    const third = ask(request('c'));
    const { signal } = await question(1);
    two.abort();
    await expect(second).rejects.toSatisfy((error) => isParleyError(error, 'aborted'));
    expect(shown).toHaveLength(1);
    one.abort();
    await expect(first).rejects.toSatisfy((error) => isParleyError(error, 'aborted'));
    expect(signal.aborted).toBe(true);
    const next = await question(2);
    expect(next.tool).toBe('c');
    next.answer(ONCE);
    expect(await third).toEqual(ONCE);
    expect(clock.waiting).toBe(0);
  });

  it('are not shown at all when the caller has given up before', async () => {
    const { ask, shown } = desk();
    await expect(ask(request('a'), { signal: AbortSignal.abort() })).rejects.toSatisfy((error) =>
      isParleyError(error, 'aborted'),
    );
    expect(shown).toEqual([]);
  });

  it('pass on the fault of one prompt and go on with the next', async () => {
    const { ask, question, clock } = desk();
    const first = ask(request('a'));
    const second = ask(request('b'));
    (await question(1)).fail(new ParleyError('internal', 'The terminal went away.'));
    await expect(first).rejects.toThrow('The terminal went away.');
    (await question(2)).answer(ONCE);
    expect(await second).toEqual(ONCE);
    expect(clock.waiting).toBe(0);
  });

  it('are denied at once when too many wait, of one server or in all', async () => {
    const { ask, question } = desk({ maxPending: 3, maxPendingOfServer: 2 });
    const kept = [ask(request('a')), ask(request('b'))];
    expect(await ask(request('c'))).toMatchObject({ type: 'deny', by: 'policy' });
    kept.push(ask(request('d', { server: 'mail' })));
    expect(await ask(request('e', { server: 'web' }))).toMatchObject({ type: 'deny', by: 'policy' });
    for (const count of [1, 2, 3]) (await question(count)).answer(ONCE);
    expect(await Promise.all(kept)).toEqual([ONCE, ONCE, ONCE]);
    const again = ask(request('c'));
    (await question(4)).answer(ONCE);
    expect(await again).toEqual(ONCE);
  });
});

describe('an approval for the run', () => {
  it('is remembered, and answers those that wait for the same tool', async () => {
    const { ask, question, shown } = desk();
    const verdicts = [ask(request('a')), ask(request('a')), ask(request('b'))];
    (await question(1)).answer(RUN);
    expect(await verdicts[1]).toEqual(RUN);
    (await question(2)).answer(ONCE);
    expect(await Promise.all(verdicts)).toEqual([RUN, RUN, ONCE]);
    expect(shown.map(({ tool }) => tool)).toEqual(['a', 'b']);
  });

  it('does not answer for another definition of the tool', async () => {
    const { ask, question } = desk();
    const first = ask(request('a'));
    const second = ask(request('a', { description: 'Changed.' }));
    (await question(1)).answer(RUN);
    (await question(2)).answer(NO);
    expect(await Promise.all([first, second])).toEqual([RUN, NO]);
  });

  it('does not answer where every call is to be asked for', async () => {
    const { ask, question, shown } = desk();
    const verdicts = [ask(request('a')), ask(request('a', { widest: 'once' }))];
    (await question(1)).answer(RUN);
    (await question(2)).answer(ONCE);
    expect(await Promise.all(verdicts)).toEqual([RUN, ONCE]);
    expect(shown).toHaveLength(2);
  });
});

describe('a tool that was denied three times', () => {
  it('is not asked for again, also not by a call that waits', async () => {
    const { ask, question, shown } = desk();
    const verdicts = Array.from({ length: 4 }, () => ask(request('a')));
    for (const count of [1, 2, 3]) (await question(count)).answer(NO);
    expect((await Promise.all(verdicts)).map((verdict) => verdict.type === 'deny' && verdict.by)).toEqual([
      'person',
      'person',
      'person',
      'policy',
    ]);
    expect(await ask(request('a', { description: 'Under a new text.' }))).toMatchObject({ type: 'deny', by: 'policy' });
    expect(shown).toHaveLength(3);
    const other = ask(request('b'));
    (await question(4)).answer(ONCE);
    expect(await other).toEqual(ONCE);
  });

  it('is one a person denied: time-outs do not count', async () => {
    const { ask, question, clock } = desk();
    for (const count of [1, 2, 3]) {
      const verdict = ask(request('a'));
      await question(count);
      clock.advance(300_000);
      expect(await verdict).toMatchObject({ by: 'timeout' });
    }
    const fourth = ask(request('a'));
    (await question(4)).answer(ONCE);
    expect(await fourth).toEqual(ONCE);
  });
});

it('Where nobody can be asked everything is denied, and says so', async () => {
  const verdict = await denyAll('Standard input is no terminal.').ask(request('a'));
  expect(verdict).toEqual({ type: 'deny', by: 'no-terminal', message: 'Standard input is no terminal.' });
});

// Servers whose lists have no end, whose definitions are bombs, or whose tools turn into others.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Approver } from '../../src/host/index.ts';
import type { Tool } from '../../src/protocol/index.ts';
import { compileSchema } from '../../src/protocol/json-schema.ts';
import { textOf, withOracle, type Scene } from './fixtures/scene.ts';

let directory = '';
/** Whatever asks here was led by a server. */
let canary: Server;
let hits = 0;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'parley-fakes-'));
  hits = 0;
  canary = createServer((_request, response) => {
    hits++;
    response.end('{}');
  });
  canary.on('connection', () => hits++);
  await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  rmSync(directory, { recursive: true, force: true });
  await new Promise((resolve) => canary.close(resolve));
});

const canaryUrl = () => `http://127.0.0.1:${String((canary.address() as AddressInfo).port)}/`;
const toolsOf = ({ host }: Scene) => host.registry.snapshot.servers.find(({ server }) => server === 'bad')?.listings.tool;
const namesOf = (scene: Scene) => toolsOf(scene)?.entries.map(({ definition }) => definition.name);

describe('a list', () => {
  it.each(['endless-pages', 'empty-pages'])('without end is not used, and says so (%s)', async (mode) => {
    await withOracle(
      mode,
      async (scene) => {
        await scene.host.settled();
        expect(toolsOf(scene)).toMatchObject({ entries: [], stale: expect.stringContaining('more than 20 pages') as string });
        const session = await scene.host.session('bad');
        await expect(session.listTools()).rejects.toMatchObject({
          code: 'limit',
          details: { limit: 'maxPages', allowed: 20, observed: 21 },
        });
      },
      { limits: { maxPages: 20 } },
    );
  });

  it('whose cursor repeats is not taken for a whole one', async () => {
    await withOracle('repeated-cursor', async (scene) => {
      await scene.host.settled();
      expect(toolsOf(scene)).toMatchObject({ entries: [], stale: expect.stringContaining('cursor repeats') as string });
    });
  });

  it('whose cursor is huge is not followed', async () => {
    await withOracle('large-cursor', async (scene) => {
      await scene.host.settled();
      expect(toolsOf(scene)).toMatchObject({ entries: [], stale: expect.stringContaining('cursor of more than 4096') as string });
    });
  });

  it('that turns bad keeps what was listed before', async () => {
    await withOracle('list-turns-bad', async (scene) => {
      await scene.host.settled();
      expect(namesOf(scene)).toEqual(['ping', 'work']);
      expect(textOf(await scene.call())).toBe('changed');
      await scene.until(() => toolsOf(scene)?.stale !== undefined);
      expect(namesOf(scene)).toEqual(['ping', 'work']);
      expect(textOf(await scene.call('ping'))).toBe('pong');
    });
  });

  it('that is too deep fails alone, and the server can still be called', async () => {
    await withOracle('deep-list', async (scene) => {
      await scene.host.settled();
      expect(toolsOf(scene)).toMatchObject({ entries: [], stale: expect.stringContaining('64 levels') as string });
      await (await scene.host.session('bad')).ping();
    });
  });

  it('that wants input is none', async () => {
    await withOracle(['unknown-result-type', '--era', 'modern'], async ({ call, host }) => {
      await host.settled();
      expect(await call()).toMatchObject({ type: 'fault', error: { code: 'protocol-violation' } });
      await expect((await host.session('bad')).listTools({ cache: 'fresh' })).rejects.toMatchObject({
        code: 'protocol-violation',
      });
    });
  });
});

describe('tools', () => {
  it('with names of any kind have names of their own for a model, or are refused by name', async () => {
    await withOracle('odd-names', async ({ host, call }) => {
      await host.settled();
      const { tools, servers } = host.registry.snapshot;
      const names = tools.map(({ modelName }) => modelName);
      expect(new Set(names).size).toBe(names.length);
      for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      const bad = servers.find(({ server }) => server === 'bad')?.listings.tool;
      // Two of one name are one too many.
      expect(bad?.entries.filter(({ definition }) => definition.name === 'twin')).toHaveLength(1);
      for (const { name } of tools.filter(({ server, name }) => server === 'bad' && name !== 'ping')) {
        expect(textOf(await call(name))).toBe('{}');
      }
    });
  });

  it('that are no tools take nothing from those beside them', async () => {
    await withOracle('bad-tools', async (scene) => {
      await scene.host.settled();
      expect(namesOf(scene)).toEqual(expect.arrayContaining(['ping', 'null-description', 'work']));
      expect(toolsOf(scene)?.rejected.length).toBeGreaterThanOrEqual(5);
      expect(textOf(await scene.call('ping'))).toBe('pong');
      expect(textOf(await scene.call())).toBe('{}');
    });
  });

  it('with another schema in each list leave nothing of the last one behind', async () => {
    await withOracle('new-schemas', async ({ host, call }) => {
      await host.settled();
      const session = await host.session('bad');
      for (let time = 0; time < 300; time++) {
        const { items } = await session.listTools({ cache: 'fresh' });
        compileSchema((items[1] as Tool).inputSchema)({});
      }
      expect(textOf(await call('ping'))).toBe('pong');
    });
  });

  it.each([
    ['missing', 'missing', 'kept'],
    ['mismatch', 'invalid', 'kept'],
    ['failed', 'unchecked', 'kept'],
    ['alone', 'valid', ''],
    ['unknown', 'valid', 'kept'],
  ])('whose results do not fit what they promised lose none of them (%s)', async (kind, verdict, text) => {
    await withOracle('output-schemas', async ({ call }) => {
      const outcome = await call('work', { kind });
      if (outcome.type !== 'ok' && outcome.type !== 'tool-error') throw new Error(outcome.type);
      expect(outcome.result.verdict).toBe(verdict);
      expect(textOf({ ...outcome, type: 'ok' })).toBe(text);
    });
  });
});

describe('a schema', () => {
  it('that is a bomb costs its own tool alone, and nothing it names is fetched', async () => {
    await withOracle(['schema-bombs', '--canary', canaryUrl()], async (scene) => {
      await scene.host.settled();
      const text = `${'a'.repeat(40)}!`;
      for (const name of [
        'self',
        'doubling',
        'enormous',
        'network',
        'dialect',
        'file',
        'dangling',
        'pattern',
        'keys',
        'many-parts',
      ]) {
        const outcome = await scene.call(name, { a: text, [text]: 1 });
        expect([name, outcome.type]).toEqual([name, 'invalid']);
      }
      const deep = Array.from({ length: 60 }).reduce<object>((x) => ({ x, y: 1 }), {});
      expect((await scene.call('alternatives', deep)).type).toBe('invalid');
      expect(textOf(await scene.call('ping'))).toBe('pong');
      // Large and honest: checked elsewhere, and allowed.
      expect(textOf(await scene.call('large', { p7: 'x' }))).toBe('{"p7":"x"}');
      expect((await scene.call('large', { p7: 7 })).type).toBe('invalid');
      // The same $id twice: each tool has its own schema.
      expect(textOf(await scene.call('id-one', { a: 'x' }))).toBe('{"a":"x"}');
      expect(textOf(await scene.call('id-two', { a: 1 }))).toBe('{"a":1}');
      expect((await scene.call('id-one', { a: 1 })).type).toBe('invalid');
      expect((await scene.call('icon')).type).toBe('ok');
      expect(hits).toBe(0);
    });
  });
});

describe('a tool', () => {
  it('that changes between the question and the answer is not called', async () => {
    const log = join(directory, 'calls');
    writeFileSync(log, '');
    let scene: Scene | undefined;
    await withOracle(
      ['rug', '--log', log],
      async (current) => {
        scene = current;
        await current.host.settled();
        expect(await current.call()).toMatchObject({ type: 'denied', because: expect.stringContaining('changed') as string });
        expect(readFileSync(log, 'utf8')).toBe('');
      },
      {
        approver: {
          async ask() {
            // The server shows another definition to whoever looks while the person thinks.
            const current = scene as Scene;
            const before = current.host.registry.snapshot;
            await current.host.restart('bad');
            await current.until(() => current.host.registry.snapshot !== before && toolsOf(current)?.stale === undefined);
            return { type: 'allow', scope: 'once' };
          },
        },
      },
    );
  });

  it('that was allowed for a run is asked about again when it went away and came back, or is another', async () => {
    const asked: string[] = [];
    const approver: Approver = {
      async ask({ intent }) {
        asked.push(intent.tool);
        return { type: 'allow', scope: 'run' };
      },
    };
    await withOracle(
      'changes-its-tools',
      async (scene) => {
        await scene.host.settled();
        const work = () => toolsOf(scene)?.entries.find(({ definition }) => definition.name === 'work')?.definition;
        const change = async (to: string, done: () => boolean) => {
          expect(textOf(await scene.call('change', { to }))).toBe('changed');
          await scene.until(done);
        };
        const times = async () => {
          for (let time = 0; time < 2; time++) expect(textOf(await scene.call())).toBe('{}');
          return asked.filter((name) => name === 'work').length;
        };
        expect(await times()).toBe(1);
        await change('gone', () => work() === undefined);
        expect((await scene.call()).type).toBe('unknown');
        await change('back', () => work() !== undefined);
        expect(await times()).toBe(2);
        await change('other', () => work()?.description === 'another');
        expect(await times()).toBe(3);
      },
      // What either gives may reach any server, so that it is no reason to ask.
      { approver, servers: { good: { private: false }, bad: { private: false } } },
    );
  }, 60_000);

  it('whose own result would have its pattern backtrack is checked all the same, in no time', async () => {
    await withOracle('slow-output', async ({ call }) => {
      const outcome = await call();
      expect(textOf(outcome)).toBe('slow');
      expect(outcome).toMatchObject({ result: { verdict: 'invalid' } });
      expect(textOf(await call('ping'))).toBe('pong');
    });
  });

  it('whose result names addresses makes nobody look there', async () => {
    await withOracle(['links', '--canary', canaryUrl()], async ({ call }) => {
      expect(await call()).toMatchObject({ type: 'ok' });
      expect(hits).toBe(0);
    });
  });
});

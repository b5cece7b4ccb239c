// `parley.lock`: what of a project's servers was reviewed, in a file that stands beside `.mcp.json` and goes into version control. It
// may only forbid; nothing becomes allowed by standing in it.
import { canonical, digest } from '../../base/index.ts';
import { ParleyError } from '../../errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/index.ts';
import { oneLine } from '../trust/index.ts';

/** One definition as it was reviewed: a tool's or prompt's as the server sent it, or the text of instructions. */
export interface LockedDefinition {
  readonly digest: string;
  readonly definition: JsonObject | string;
}

export interface LockedServer {
  /** How it is reached: names of variables and headers, never their values. */
  readonly launch: JsonObject;
  readonly instructions?: LockedDefinition;
  readonly tools: ReadonlyMap<string, LockedDefinition>;
  readonly prompts: ReadonlyMap<string, LockedDefinition>;
}

/** The servers of a project by name. A server that is not in it was never reviewed for it, and is none of its business. */
export type Lock = ReadonlyMap<string, LockedServer>;

const FORMAT = 1;

/** The entry for a definition. */
export function lockDefinition(definition: JsonObject | string): LockedDefinition {
  return { digest: digest(definition), definition };
}

/** The text of a lock file: members in order, so that equal locks are equal texts and a change is a small one. */
export function formatLock(lock: Lock): string {
  const definitions = (map: ReadonlyMap<string, LockedDefinition>) =>
    Object.fromEntries(sorted(map).map(([name, locked]) => [name, locked]));
  const servers = Object.fromEntries(
    sorted(lock).map(([name, { launch, instructions, tools, prompts }]) => [
      name,
      { launch, ...(instructions && { instructions }), tools: definitions(tools), prompts: definitions(prompts) },
    ]),
  );
  // Canonical first, for the order of members all the way down.
  return `${JSON.stringify(JSON.parse(canonical({ version: FORMAT, servers })), undefined, 2)}\n`;
}

/**
 * Reads the text of a lock file.
 * @throws ParleyError `config-invalid` for what is no lock file, and for a definition that is not the one its digest was made for
 */
export function parseLock(text: string, file: string): Lock {
  const fail = (why: string) =>
    new ParleyError(
      'config-invalid',
      `${file} ${why}. Take it from version control again, or remove it and run \`parley lock update\`.`,
    );
  let whole: unknown;
  try {
    whole = JSON.parse(text);
  } catch (cause) {
    throw new ParleyError('config-invalid', fail('is not JSON').message, { cause });
  }
  if (!isObject(whole) || whole['version'] !== FORMAT) throw fail(`is not a lock of version ${FORMAT}`);
  return readEach(whole['servers'], (name, server) => {
    const where = `of server "${oneLine(name, 80)}"`;
    if (!isObject(server) || !isObject(server['launch'])) throw fail(`has no launch ${where}`);
    const definitions = (key: 'tools' | 'prompts') =>
      readEach(server[key], (each, locked) =>
        readDefinition(locked, () => fail(`was changed at "${oneLine(each, 80)}" ${where}`)),
      );
    const { instructions } = server;
    return {
      launch: server['launch'],
      ...(instructions !== undefined && {
        instructions: readDefinition(instructions, () => fail(`was changed at the instructions ${where}`)),
      }),
      tools: definitions('tools'),
      prompts: definitions('prompts'),
    };
  });

  function readEach<T>(value: unknown, read: (name: string, member: unknown) => T): ReadonlyMap<string, T> {
    if (!isObject(value)) throw fail('lacks one of its lists');
    return new Map(Object.entries(value).map(([name, member]) => [name, read(name, member)]));
  }
}

function readDefinition(value: unknown, fail: () => ParleyError): LockedDefinition {
  if (!isObject(value)) throw fail();
  const { definition } = value;
  if (!isObject(definition) && typeof definition !== 'string') throw fail();
  if (value['digest'] !== digest(definition)) throw fail();
  return lockDefinition(definition);
}

function sorted<T>(map: ReadonlyMap<string, T>): readonly (readonly [string, T])[] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}

// How an entry says a server is reached, in all the spellings that applications use, brought to one.
// Nothing is guessed: an entry that could mean two things is refused with a hint.
import { quoted } from './diagnostic.ts';
import { hasPlaceholder } from './expand.ts';
import { type Fields, isRecord } from './fields.ts';
import type { HttpLaunch, Launch, StdioLaunch } from './shape.ts';

const URL_KEYS = ['url', 'serverUrl', 'baseUrl', 'httpUrl'];
const ENV_KEYS = ['env', 'environment', 'envs'];

/** The keys that describe a launch. */
export const LAUNCH_KEYS: readonly string[] = ['type', 'command', 'args', ...ENV_KEYS, 'cwd', ...URL_KEYS, 'headers'];

const TYPES = {
  stdio: 'stdio',
  local: 'stdio',
  http: 'http',
  'streamable-http': 'http',
  streamableHttp: 'http',
  sse: 'sse',
  remote: 'either',
} as const satisfies Record<string, 'stdio' | HttpLaunch['transport']>;
type Type = (typeof TYPES)[keyof typeof TYPES];

/** True when the object says how to reach a server, and not only settings for one. */
export function describesLaunch(record: Readonly<Record<string, unknown>>): boolean {
  return LAUNCH_KEYS.some((key) => key in record);
}

/** True for what surely is a server's entry, wherever it stands. */
export function looksLikeServer(value: unknown): boolean {
  return isRecord(value) && ['command', ...URL_KEYS].some((key) => key in value);
}

/** The launch an entry describes, placeholders and all, or undefined after saying what is wrong. */
export function readLaunch(fields: Fields): Launch | undefined {
  const urlKey = oneOf(fields, URL_KEYS);
  const type = readType(fields);
  const problem = mismatch(type, urlKey, fields.has('command'));
  if (problem !== undefined) fields.fail(urlKey === undefined ? [] : urlKey, problem);
  if (problem !== undefined) return undefined;
  const launch = urlKey === undefined ? readStdio(fields) : readHttp(fields, urlKey, type === 'stdio' ? undefined : type);
  if (launch === undefined) return undefined;
  eachText(launch, (text, field) => {
    const wrong = hasPlaceholder(text) ? undefined : problemOf(text, field);
    if (wrong !== undefined) fields.fail(field, wrong);
  });
  return fields.failed ? undefined : launch;
}

/** Why `type`, `url` and `command` do not fit one another. */
function mismatch(type: Type | undefined, urlKey: string | undefined, hasCommand: boolean): string | undefined {
  if (urlKey !== undefined && hasCommand) return `it has both "command" and "${urlKey}". Keep the one that is meant.`;
  if (urlKey === undefined && !hasCommand) {
    return `it needs ${type === undefined ? '"command" (a program) or "url"' : type === 'stdio' ? '"command"' : '"url"'}.`;
  }
  if (hasCommand && type !== undefined && type !== 'stdio') {
    return 'its "type" needs "url", but it has "command". Write "type": "stdio", or leave "type" out.';
  }
  if (urlKey !== undefined && type === 'stdio') {
    return `its "type" needs "command", but it has "${urlKey}". Write "type": "http" or "sse", or leave "type" out.`;
  }
  return undefined;
}

/** Where a text of a launch stands: a key, and the name or index under it. */
export type Field =
  | readonly ['command' | 'cwd' | 'url']
  | readonly ['args', number]
  | readonly ['env' | 'headers', string]
  | readonly ['sandbox', 'read' | 'write', number];

/** The launch with `change` applied to every text that may hold placeholders, in a fixed order. */
export function mapTexts(launch: Launch, change: (text: string, field: Field) => string): Launch {
  const mapValues = (key: 'env' | 'headers', map: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(map).map(([name, text]) => [name, change(text, [key, name])]));
  if (launch.kind === 'http') {
    return { ...launch, url: change(launch.url, ['url']), headers: mapValues('headers', launch.headers) };
  }
  return {
    ...launch,
    command: change(launch.command, ['command']),
    args: launch.args.map((arg, at) => change(arg, ['args', at])),
    env: mapValues('env', launch.env),
    ...(launch.cwd !== undefined && { cwd: change(launch.cwd, ['cwd']) }),
    ...(launch.sandbox !== undefined && {
      sandbox: {
        ...launch.sandbox,
        read: launch.sandbox.read.map((path, at) => change(path, ['sandbox', 'read', at])),
        write: launch.sandbox.write.map((path, at) => change(path, ['sandbox', 'write', at])),
      },
    }),
  };
}

/** Calls `look` with every text of the launch. */
export function eachText(launch: Launch, look: (text: string, field: Field) => void): void {
  mapTexts(launch, (text, field) => {
    look(text, field);
    return text;
  });
}

/** What is wrong with a text that holds no more placeholders, or undefined. Says nothing of the text itself. */
export function problemOf(text: string, field: Field): string | undefined {
  const [key, name] = field;
  if (text.includes('\0')) return `"${field.join('.')}" holds a NUL character.`;
  switch (key) {
    case 'args':
      return undefined;
    case 'command':
    case 'cwd':
    case 'sandbox':
      return text.trim() === '' ? `"${key}" is empty.` : undefined;
    case 'env':
      return /^[^=\0$\s]+$/.test(name) ? undefined : `${quoted(name)} is not a name a variable can have.`;
    case 'headers':
      if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return `${quoted(name)} is not a name a header can have.`;
      return /^[\t\x20-\x7e\x80-\xff]*$/.test(text)
        ? undefined
        : `the header ${quoted(name)} holds a line break or a character that headers cannot carry.`;
    case 'url':
      return problemOfUrl(text);
  }
}

function problemOfUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return '"url" must be a whole URL that begins with https:// or http://.';
  if (url.username !== '' || url.password !== '')
    return '"url" holds a user name or password, which is never sent. Put it into "headers" as "Authorization".';
  return undefined;
}

function readType(fields: Fields): Type | undefined {
  const type = fields.text('type');
  if (type === undefined) return undefined;
  if (Object.hasOwn(TYPES, type)) return TYPES[type as keyof typeof TYPES];
  fields.fail('type', `the "type" ${quoted(type)} is not known. There are ${Object.keys(TYPES).join(', ')}.`);
  return undefined;
}

function readStdio(fields: Fields): StdioLaunch | undefined {
  const command = readCommand(fields);
  const args = fields.texts('args') ?? [];
  const envKey = oneOf(fields, ENV_KEYS);
  const env = envKey === undefined ? {} : (fields.map(envKey) ?? {});
  const cwd = fields.text('cwd');
  if (fields.has('headers')) fields.fail('headers', '"headers" are for a server with "url". For a program use "env".');
  if (command === undefined) return undefined;
  const [program, ...more] = command;
  return { kind: 'stdio', command: program, args: [...more, ...args], env, ...(cwd !== undefined && { cwd }) };
}

function readHttp(fields: Fields, urlKey: string, type: HttpLaunch['transport'] | undefined): HttpLaunch | undefined {
  const url = fields.text(urlKey);
  const headers = fields.map('headers') ?? {};
  for (const key of ['args', ...ENV_KEYS, 'cwd']) {
    if (fields.has(key)) fields.fail(key, `"${key}" is for a server with "command". For a URL use "headers".`);
  }
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  const twice = Object.keys(headers).find((name, at) => names.indexOf(name.toLowerCase()) !== at);
  if (twice !== undefined) fields.fail(['headers', twice], `the header ${quoted(twice)} stands there twice. Keep one of them.`);
  // One application writes `httpUrl` for Streamable HTTP alone.
  return url === undefined
    ? undefined
    : { kind: 'http', url, headers, transport: type ?? (urlKey === 'httpUrl' ? 'http' : 'either') };
}

/** The program and the arguments that follow it in the same value. A line of words is not split: it may be one path. */
function readCommand(fields: Fields): [string, ...string[]] | undefined {
  const { command } = fields.record;
  const words = Array.isArray(command) ? fields.texts('command') : [fields.text('command')];
  const [program, ...args] = words ?? [];
  if (program === undefined) {
    if (words?.length === 0) fields.fail('command', '"command" is an empty list.');
    return undefined;
  }
  if (typeof command !== 'string' || !/\s/.test(program.trim()) || fields.has('args')) return [program, ...(args as string[])];
  const [first = '', ...rest] = program.trim().split(/\s+/).map(quoted);
  const split = `"command": ${first}, "args": [${rest.join(', ')}]`;
  const path = 'or, if it is one path with spaces in it, add "args": []';
  fields.fail('command', `"command" is a whole command line, which is not split here. Write ${split}; ${path}.`);
  return undefined;
}

/** The one key of `keys` that is there; two are a failure. */
function oneOf(fields: Fields, keys: readonly string[]): string | undefined {
  const present = keys.filter((key) => fields.has(key));
  const [, second] = present;
  if (second !== undefined)
    fields.fail(second, `${present.map((key) => `"${key}"`).join(' and ')} mean the same. Keep one of them.`);
  return present[0];
}

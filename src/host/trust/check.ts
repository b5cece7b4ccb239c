// Looks over what a server answered before anybody reads it: how much it is, how deep it goes, what hides in it, and whether it
// fits the tool's output schema. What is too much is replaced by a line that says so; the rest always stays.
import { isObject, type JsonObject } from '../../jsonrpc/index.ts';
import type { CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult } from '../../protocol/index.ts';
import { audienceOf, bytesText, nameOf, payloadOf, type AnyResult } from './blocks.ts';
import { foreignLinks, imitatesQuestion } from './findings.ts';
import { RESULT_LIMITS, type ResultLimits } from './limits.ts';
import { hold, type Source, type Untrusted } from './untrusted.ts';
import { cut, hiddenIn, oneLine, type Hidden } from './visible.ts';

/** `where` is a member of the result, such as `content[3]`; both texts are safe to show. */
export interface Finding {
  readonly kind: Hidden | 'imitation' | 'link' | 'oversized' | 'too-deep' | 'too-many' | 'unknown-block';
  readonly where: string;
  readonly detail: string;
}

/** `missing`: there is a schema and no structured content. `unchecked`: no schema, an error result, or a check that failed itself. */
export type OutputVerdict = 'valid' | 'invalid' | 'missing' | 'unchecked';

/** A result that is held, and what is known of it without reading it. */
export interface Held<R> {
  readonly value: Untrusted<R>;
  /** The tool says that it failed. */
  readonly isError: boolean;
  /** At most a hundred. */
  readonly findings: readonly Finding[];
  readonly verdict: OutputVerdict;
  /** Why the verdict is not `valid`, where there is a reason; with text of the server. */
  readonly errors: readonly string[];
}

/** Of one line. */
const SAID_FINDINGS = 3;

/** Findings as one line of ours, for people; undefined when there are none. */
export function sayFindings(findings: readonly Finding[]): string | undefined {
  if (findings.length === 0) return undefined;
  const said = findings.slice(0, SAID_FINDINGS).map(({ where, detail }) => `${where} ${detail}`);
  const more = findings.length > SAID_FINDINGS ? `; and ${findings.length - SAID_FINDINGS} more` : '';
  return `(${findings.length} ${findings.length === 1 ? 'finding' : 'findings'}: ${said.join('; ')}${more})`;
}

export interface HoldOptions {
  readonly limits?: ResultLimits;
  /** Hosts that links may lead to without being found: the server's own. */
  readonly ownHosts?: readonly string[];
}

export interface ToolHoldOptions extends HoldOptions {
  /** Checks structured content against the tool's output schema. Absent for a tool without one; called at most once. */
  readonly checkOutput?: (structured: unknown) => CheckedOutput | Promise<CheckedOutput>;
}

export type CheckedOutput = { readonly valid: true } | { readonly valid: false; readonly errors: readonly string[] };

const MAX_FINDINGS = 100;
const UNCHECKED = { verdict: 'unchecked', errors: [] } as const satisfies Pick<Held<never>, 'verdict' | 'errors'>;
const OMITTED: ContentBlock = { type: 'text', text: '[structured content omitted]' };
const KNOWN = new Set<unknown>(['text', 'image', 'audio', 'resource', 'resource_link']);

/** What a tool gave, held within the limits; at once where no output is checked. Never throws for what the server sent. */
export function holdToolResult(
  result: CallToolResult,
  source: Source,
  options: ToolHoldOptions = {},
): Held<CallToolResult> | Promise<Held<CallToolResult>> {
  const { kept, findings } = within(result, TOOL, options);
  const isError = result.isError === true;
  const lost = result.structuredContent !== undefined && kept.structuredContent === undefined;
  const whole = lost && kept.content.length === 0 ? { ...kept, content: [OMITTED] } : kept;
  const check = isError || lost ? undefined : options.checkOutput;
  const held = { value: hold(whole, source), isError, findings, verdict: UNCHECKED.verdict, errors: UNCHECKED.errors };
  return check === undefined ? held : judge(kept.structuredContent, check).then((output) => ({ ...held, ...output }));
}

/** A resource that was read, held within the limits. */
export function holdResource(result: ReadResourceResult, source: Source, options: HoldOptions = {}): Held<ReadResourceResult> {
  const { kept, findings } = within(result, RESOURCE, options);
  return { value: hold(kept, source), isError: false, findings, ...UNCHECKED };
}

/** A prompt with its messages, held within the limits. */
export function holdPrompt(result: GetPromptResult, source: Source, options: HoldOptions = {}): Held<GetPromptResult> {
  const { kept, findings } = within(result, PROMPT, options);
  return { value: hold(kept, source), isError: false, findings, ...UNCHECKED };
}

/** The result with whatever is too much left out and named, and what was found. */
function within<R extends AnyResult>(
  result: R,
  shape: Shape,
  options: HoldOptions,
): { readonly kept: R; readonly findings: readonly Finding[] } {
  const { limits = RESULT_LIMITS } = options;
  const findings: Finding[] = [];
  const find = (kind: Finding['kind'], where: string, detail: string) => {
    if (findings.length < MAX_FINDINGS) findings.push({ kind, where, detail });
  };
  const survey = createSurvey(limits);
  const { ownHosts = [] } = options;
  const findIn = (where: string, { hidden, imitates, texts }: Readonly<Surveyed>) => {
    for (const kind of hidden) find(kind, where, `holds ${HIDDEN_TEXT[kind]}`);
    if (imitates) find('imitation', where, 'holds what looks like a question of Parley’s own');
    const links = sayLinks(texts, ownHosts);
    if (links !== undefined) find('link', where, links);
  };

  const items = (result as unknown as JsonObject)[shape.list] as readonly JsonObject[];
  const list = items.slice(0, limits.blocks).map((item, index) => {
    const where = `${shape.list}[${index}]`;
    const block = shape.block(item);
    const surveyed = survey(item);
    const { bytes, over } = surveyed;
    findIn(where, surveyed);
    if (!KNOWN.has(block['type'])) find('unknown-block', where, nameOf(block));
    const most = mostOf(block, limits);
    if (over === undefined && (payloadOf(block) ?? bytes) <= most) return item;
    const why = over === undefined ? `more than ${bytesText(most)}` : WHY[over](limits);
    find(over ?? 'oversized', where, `${why}; left out`);
    return shape.replace(item, `${nameOf(block, 'omitted')} (${why})`);
  });
  if (items.length > limits.blocks) {
    find('too-many', shape.list, `${items.length} items, more than ${limits.blocks}; the rest is left out`);
    list.push(shape.replace(undefined, `[${items.length - limits.blocks} more items omitted]`));
  }

  const left = new Set<string>();
  for (const key of Object.keys(result)) {
    if (key === shape.list) continue;
    // A second list would be read by one and not by another.
    if (LISTS.has(key)) left.add(key);
    const value = (result as unknown as JsonObject)[key];
    if (LISTS.has(key) || typeof value === 'boolean' || typeof value === 'number') continue;
    const surveyed = survey(value);
    const { bytes, over } = surveyed;
    const fits = over === undefined && bytes <= limits.structured;
    if (fits && hasNothing(surveyed)) continue;
    const where = oneLine(key, 64);
    findIn(where, surveyed);
    if (fits) continue;
    left.add(key);
    if (over !== undefined) find(over, where, `${WHY[over](limits)}; left out`);
    else find('oversized', where, `more than ${bytesText(limits.structured)}; left out`);
  }
  // As it came, where nothing had to go.
  if (left.size === 0 && list.length === items.length && list.every((item, index) => item === items[index])) {
    return { kept: result, findings };
  }
  const members = Object.entries(result).filter(([key]) => key !== shape.list && !left.has(key));
  return { kept: Object.fromEntries([...members, [shape.list, list]]) as unknown as R, findings };
}

async function judge(
  structured: unknown,
  check: NonNullable<ToolHoldOptions['checkOutput']>,
): Promise<Pick<Held<never>, 'verdict' | 'errors'>> {
  if (structured === undefined)
    return { verdict: 'missing', errors: ['the tool has an output schema but gave no structured content'] };
  try {
    const checked = await check(structured);
    return checked.valid ? { verdict: 'valid', errors: [] } : { verdict: 'invalid', errors: checked.errors };
  } catch (error) {
    return { verdict: 'unchecked', errors: [error instanceof Error ? error.message : String(error)] };
  }
}

/** The list in a result: its name, the block in an item, and an item that says `text` in the place of another. */
interface Shape {
  readonly list: string;
  readonly block: (item: JsonObject) => JsonObject;
  readonly replace: (item: JsonObject | undefined, text: string) => JsonObject;
}

const TOOL: Shape = { list: 'content', block: (item) => item, replace: textBlock };

const RESOURCE: Shape = {
  list: 'contents',
  block: (item) => ({ type: 'resource', resource: item }),
  replace: (item, text) => {
    const uri = item?.['uri'];
    return { uri: typeof uri === 'string' ? cut(uri, 2_048) : '', mimeType: 'text/plain', text };
  },
};

const PROMPT: Shape = {
  list: 'messages',
  block: blockOfMessage,
  replace: (item, text) => ({
    role: item?.['role'] === 'assistant' ? 'assistant' : 'user',
    content: textBlock(item && blockOfMessage(item), text),
  }),
};

function blockOfMessage(message: JsonObject): JsonObject {
  return isObject(message['content']) ? message['content'] : {};
}

const LISTS = new Set([TOOL, RESOURCE, PROMPT].map(({ list }) => list));

/** A text block for the same readers as the block it replaces. */
function textBlock(replaced: JsonObject | undefined, text: string): JsonObject {
  const audience = replaced === undefined ? undefined : audienceOf(replaced);
  return { type: 'text', text, ...(audience !== undefined && { annotations: { audience: [audience] } }) };
}

function mostOf(block: JsonObject, limits: ResultLimits): number {
  switch (block['type']) {
    case 'image':
      return limits.image;
    case 'audio':
      return limits.audio;
    case 'resource':
    case 'resource_link':
      return limits.resource;
    case 'text':
      return Infinity;
    default:
      return limits.structured;
  }
}

const HIDDEN_TEXT: Readonly<Record<Hidden, string>> = {
  control: 'control characters',
  bidi: 'characters that change the direction of writing',
  invisible: 'characters that cannot be seen',
  tag: 'tag characters, in which a text can be hidden',
};

/** Of one finding. */
const SAID_HOSTS = 5;

function sayLinks(texts: readonly string[], own: readonly string[]): string | undefined {
  if (texts.length === 0) return undefined;
  const found = texts.map((text) => foreignLinks(text, own));
  const hosts = [...new Set(found.flatMap((each) => each.hosts))];
  if (hosts.length === 0) return undefined;
  const more = hosts.length > SAID_HOSTS ? ` and ${hosts.length - SAID_HOSTS} more` : '';
  const images = found.some((each) => each.images.length > 0) ? '; some of it is loaded to be shown, by those who show it' : '';
  return `links to ${hosts
    .slice(0, SAID_HOSTS)
    .map((host) => oneLine(host, 100))
    .join(', ')}${more}${images}`;
}

const WHY = {
  'too-deep': (limits: ResultLimits) => `more than ${limits.depth} levels deep`,
  'too-many': (limits: ResultLimits) => `more than ${limits.nodes} values in the result`,
} as const;

interface Surveyed {
  /** About the size of its JSON. */
  bytes: number;
  readonly hidden: Hidden[];
  imitates: boolean;
  /** Those that may hold a link. */
  readonly texts: string[];
  /** Set when it goes too deep, or holds more values than are left for the whole result; then nothing else is complete. */
  over: 'too-deep' | 'too-many' | undefined;
}

/** Goes over one value after the other, without recursion; they share the number of values allowed. */
function createSurvey(limits: ResultLimits): (value: unknown) => Readonly<Surveyed> {
  let nodesLeft = limits.nodes;
  /** What is still to be looked at, and how deep each of it lies. */
  const values: unknown[] = [];
  const depths: number[] = [];

  function look(value: unknown, depth: number, seen: Surveyed): void {
    if (--nodesLeft < 0) seen.over = 'too-many';
    else if (typeof value === 'string') lookAtText(value, seen);
    else if (typeof value !== 'object' || value === null) seen.bytes += String(value).length + 1;
    else if (depth >= limits.depth) seen.over = 'too-deep';
    else lookInto(value, depth + 1, seen);
  }

  function lookInto(value: object, depth: number, seen: Surveyed): void {
    seen.bytes += 2;
    let room = nodesLeft;
    const add = (name: string, member: unknown) => {
      if (--room < 0) seen.over = 'too-many';
      seen.bytes += name.length + 3;
      findHidden(name, seen);
      values.push(member);
      depths.push(depth);
    };
    if (Array.isArray(value)) for (let at = 0; at < value.length && room >= 0; at++) add('', value[at]);
    else for (const name in value) if (room >= 0) add(name, (value as JsonObject)[name]);
  }

  return (top) => {
    const seen: Surveyed = { bytes: 0, hidden: [], imitates: false, texts: [], over: undefined };
    values.push(top);
    depths.push(0);
    while (values.length > 0 && seen.over === undefined) look(values.pop(), depths.pop() as number, seen);
    values.length = 0;
    depths.length = 0;
    return seen;
  };
}

/** True when there is nothing to be found in it. */
function hasNothing({ hidden, imitates, texts }: Readonly<Surveyed>): boolean {
  return hidden.length === 0 && !imitates && texts.length === 0;
}

function lookAtText(text: string, seen: Surveyed): void {
  seen.bytes += Buffer.byteLength(text) + 3;
  findHidden(text, seen);
  seen.imitates ||= imitatesQuestion(text);
  if (text.includes('/') || text.includes('\\')) seen.texts.push(text);
}

function findHidden(text: string, { hidden }: Surveyed): void {
  for (const kind of hiddenIn(text)) if (!hidden.includes(kind)) hidden.push(kind);
}

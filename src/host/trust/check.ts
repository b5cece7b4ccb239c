// Looks over what a server answered before anybody reads it: how much it is, how deep it goes, what hides in it, and whether it
// fits the tool's output schema. What is too much is replaced by a line that says so; the rest always stays.
import { isObject, type JsonObject } from '../../jsonrpc/index.ts';
import type { CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult } from '../../protocol/index.ts';
import { audienceOf, bytesText, nameOf, payloadOf, type AnyResult } from './blocks.ts';
import { foreignLinks, imitatesQuestion, isInnocent } from './findings.ts';
import { RESULT_LIMITS, type ResultLimits } from './limits.ts';
import { hold, type Source, type Untrusted } from './untrusted.ts';
import { cut, hiddenIn, isPlain, oneLine, type Hidden } from './visible.ts';

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
  /** About as many as the whole result took in JSON, as it came; fewer where it was not read to its end. */
  readonly bytes: number;
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
  const { kept, findings, bytes } = within(result, TOOL, options);
  const isError = result.isError === true;
  const lost = result.structuredContent !== undefined && kept.structuredContent === undefined;
  const whole = lost && kept.content.length === 0 ? { ...kept, content: [OMITTED] } : kept;
  const check = isError || lost ? undefined : options.checkOutput;
  const { verdict, errors } = UNCHECKED;
  const held = { value: hold(whole, source), isError, findings, verdict, errors, bytes };
  return check === undefined ? held : judge(kept.structuredContent, check).then((output) => ({ ...held, ...output }));
}

/** A resource that was read, held within the limits. */
export function holdResource(result: ReadResourceResult, source: Source, options: HoldOptions = {}): Held<ReadResourceResult> {
  const { kept, findings, bytes } = within(result, RESOURCE, options);
  return { value: hold(kept, source), isError: false, findings, bytes, ...UNCHECKED };
}

/** A prompt with its messages, held within the limits. */
export function holdPrompt(result: GetPromptResult, source: Source, options: HoldOptions = {}): Held<GetPromptResult> {
  const { kept, findings, bytes } = within(result, PROMPT, options);
  return { value: hold(kept, source), isError: false, findings, bytes, ...UNCHECKED };
}

interface Within<R> {
  readonly kept: R;
  readonly findings: readonly Finding[];
  readonly bytes: number;
}

/** The result with whatever is too much left out and named, and what was found. */
function within<R extends AnyResult>(result: R, shape: Shape, { limits = RESULT_LIMITS, ownHosts = [] }: HoldOptions): Within<R> {
  const findings = new Findings(ownHosts);
  const survey = new Survey(limits);
  const looking = { limits, survey, findings };
  const members = result as unknown as JsonObject;
  const items = members[shape.list] as readonly JsonObject[];
  let bytes = 0;
  /** The list as it is kept, once it is not what came. */
  let list: JsonObject[] | undefined;
  for (let index = 0; index < items.length && index < limits.blocks; index++) {
    const item = items[index] as JsonObject;
    survey.look(item);
    bytes += survey.bytes;
    const keptItem = keep(item, index, shape, looking);
    if (keptItem !== item) list ??= items.slice(0, index);
    list?.push(keptItem);
  }
  if (items.length > limits.blocks) {
    findings.add('too-many', shape.list, `${items.length} items, more than ${limits.blocks}; the rest is left out`);
    list ??= items.slice(0, limits.blocks);
    list.push(shape.replace(undefined, `[${items.length - limits.blocks} more items omitted]`));
  }

  let left: Set<string> | undefined;
  for (const key of Object.keys(members)) {
    if (key === shape.list) continue;
    // A second list would be read by one and not by another.
    if (LISTS.has(key)) (left ??= new Set()).add(key);
    else if (!fitsMember(key, members[key], looking)) (left ??= new Set()).add(key);
    else bytes += key.length + 3 + survey.bytes;
  }
  const found = findings.list;
  // As it came, where nothing had to go.
  if (left === undefined && list === undefined) return { kept: result, findings: found, bytes };
  const others = Object.entries(members).filter(([key]) => key !== shape.list && left?.has(key) !== true);
  return { kept: Object.fromEntries([...others, [shape.list, list ?? items]]) as unknown as R, findings: found, bytes };
}

/** What a member or an item is looked over with. */
interface Looking {
  readonly limits: ResultLimits;
  readonly survey: Survey;
  readonly findings: Findings;
}

/** The item that was surveyed, or what stands for it where it is too much. */
function keep(item: JsonObject, index: number, shape: Shape, { limits, survey, findings }: Looking): JsonObject {
  const block = shape.block(item);
  const { bytes, over } = survey;
  const most = mostOf(block, limits);
  const fits = over === undefined && (payloadOf(block) ?? bytes) <= most;
  const isKnown = KNOWN.has(block['type']);
  if (fits && isKnown && survey.foundNothing) return item;
  const where = `${shape.list}[${index}]`;
  findings.addFrom(survey, where);
  if (!isKnown) findings.add('unknown-block', where, nameOf(block));
  if (fits) return item;
  const why = over === undefined ? `more than ${bytesText(most)}` : WHY[over](limits);
  findings.add(over ?? 'oversized', where, `${why}; left out`);
  return shape.replace(item, `${nameOf(block, 'omitted')} (${why})`);
}

/** True for a member beside the list that is not too much. */
function fitsMember(key: string, value: unknown, { limits, survey, findings }: Looking): boolean {
  survey.look(value);
  if (typeof value === 'boolean' || typeof value === 'number') return true;
  const { bytes, over } = survey;
  const fits = over === undefined && bytes <= limits.structured;
  if (fits && survey.foundNothing) return true;
  const where = oneLine(key, 64);
  findings.addFrom(survey, where);
  if (over !== undefined) findings.add(over, where, `${WHY[over](limits)}; left out`);
  else if (!fits) findings.add('oversized', where, `more than ${bytesText(limits.structured)}; left out`);
  return fits;
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

const NO_FINDINGS: readonly Finding[] = Object.freeze([]);

/** What was found in one result, at most a hundred things. */
class Findings {
  readonly #ownHosts: readonly string[];
  #list: Finding[] | undefined;

  constructor(ownHosts: readonly string[]) {
    this.#ownHosts = ownHosts;
  }

  get list(): readonly Finding[] {
    return this.#list ?? NO_FINDINGS;
  }

  add(kind: Finding['kind'], where: string, detail: string): void {
    this.#list ??= [];
    if (this.#list.length < MAX_FINDINGS) this.#list.push({ kind, where, detail });
  }

  addFrom({ hidden, imitates, texts }: Survey, where: string): void {
    for (const kind of hidden) this.add(kind, where, `holds ${HIDDEN_TEXT[kind]}`);
    if (imitates) this.add('imitation', where, 'holds what looks like a question of Parley’s own');
    const links = sayLinks(texts, this.#ownHosts);
    if (links !== undefined) this.add('link', where, links);
  }
}

/** Goes over one value after the other; they share the number of values allowed. */
class Survey {
  /** About the size of the last value's JSON. */
  bytes = 0;
  hidden: Hidden[] = [];
  imitates = false;
  /** Those that may hold a link. */
  texts: string[] = [];
  /** Set when it goes too deep, or holds more values than are left for the whole result; then nothing else is complete. */
  over: 'too-deep' | 'too-many' | undefined = undefined;
  readonly #depth: number;
  #nodesLeft: number;

  constructor({ depth, nodes }: ResultLimits) {
    this.#depth = depth;
    this.#nodesLeft = nodes;
  }

  look(value: unknown): void {
    this.bytes = 0;
    if (this.hidden.length > 0) this.hidden = [];
    this.imitates = false;
    if (this.texts.length > 0) this.texts = [];
    this.over = undefined;
    this.#look(value, this.#depth);
  }

  /** True when there is nothing to be found in the last value. */
  get foundNothing(): boolean {
    return this.hidden.length === 0 && !this.imitates && this.texts.length === 0;
  }

  #look(value: unknown, levels: number): void {
    if (--this.#nodesLeft < 0) this.over = 'too-many';
    else if (typeof value === 'string') this.#lookAtText(value);
    else if (typeof value !== 'object' || value === null) this.bytes += String(value).length + 1;
    else if (levels <= 0) this.over = 'too-deep';
    else this.#lookInto(value, levels - 1);
  }

  #lookInto(value: object, levels: number): void {
    this.bytes += 2;
    const size = Array.isArray(value) ? value.length : Object.keys(value).length;
    this.bytes += 3 * size;
    if (size > this.#nodesLeft) {
      this.over = 'too-many';
    } else if (Array.isArray(value)) {
      for (let at = 0; at < value.length && this.over === undefined; at++) this.#look(value[at], levels);
    } else {
      for (const name in value) {
        if (this.over !== undefined) return;
        this.bytes += name.length;
        this.#findHidden(name);
        this.#look((value as JsonObject)[name], levels);
      }
    }
  }

  #lookAtText(text: string): void {
    if (isInnocent(text)) {
      this.bytes += text.length + 3;
      return;
    }
    this.bytes += Buffer.byteLength(text) + 3;
    this.#findHidden(text);
    this.imitates ||= imitatesQuestion(text);
    if (text.includes('/') || text.includes('\\')) this.texts.push(text);
  }

  #findHidden(text: string): void {
    if (isPlain(text)) return;
    for (const kind of hiddenIn(text)) if (!this.hidden.includes(kind)) this.hidden.push(kind);
  }
}

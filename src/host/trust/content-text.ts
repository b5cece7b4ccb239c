// What a model gets to read of a result: text without hidden characters and within a limit, media where the model takes them, and
// a name for everything else. Nothing is fetched, and what is meant for the person alone stays away.
import type { JsonObject } from '../../jsonrpc/index.ts';
import { audienceOf, bytesText, mediaOf, nameOf, piecesOf, textOf, type AnyResult } from './blocks.ts';
import { RESULT_LIMITS, type ResultLimits } from './limits.ts';
import { stripHidden } from './visible.ts';

export type ModelPart =
  | { readonly type: 'text'; readonly text: string }
  /** `data` is Base64. */
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string };

export interface ModelOptions {
  /** Media the model can take. Default none. */
  readonly takes?: readonly ('image' | 'audio')[];
  readonly limits?: Partial<ResultLimits>;
  /** Keeps a text that is too long and gives the file's path, or undefined when there is no room. Default: nothing is kept. */
  readonly spill?: (text: string) => Promise<string | undefined>;
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const MEDIA_TYPE = /^[a-z]+\/[A-Za-z0-9.+-]{1,64}$/;

/** The parts of a result for a model; at least one. Text beyond the limit goes whole into a file, and the first part of it remains. */
export async function contentForModel(result: AnyResult, options: ModelOptions = {}): Promise<readonly ModelPart[]> {
  const pieces = piecesOf(result, 0);
  const parts = pieces.filter(({ block }) => audienceOf(block) !== 'user').map(({ block }) => partOf(block, options));
  if (parts.length === 0) {
    const text = pieces.length === 0 ? '[no content]' : '[all content is for the user only]';
    return [{ type: 'text', text }];
  }
  return withinLimit(parts, options);
}

function partOf(block: JsonObject, { takes = [], limits = {} }: ModelOptions): ModelPart {
  const media = mediaOf(block);
  if (media !== undefined) {
    const type = media.type as 'image' | 'audio';
    const most = { ...RESULT_LIMITS, ...limits }[type];
    const { data, mimeType } = media;
    const usable = data.length <= most && BASE64.test(data) && MEDIA_TYPE.test(mimeType);
    if (usable && takes.includes(type)) return { type, data, mimeType };
    return { type: 'text', text: nameOf(block, 'omitted') };
  }
  const text = textOf(block);
  if (text !== undefined) return { type: 'text', text: stripHidden(text) };
  const known = block['type'] === 'resource' || block['type'] === 'resource_link';
  return { type: 'text', text: nameOf(block, known ? undefined : 'omitted') };
}

async function withinLimit(parts: readonly ModelPart[], { limits = {}, spill }: ModelOptions): Promise<readonly ModelPart[]> {
  const most = limits.modelText ?? RESULT_LIMITS.modelText;
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const total = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (total <= most) return parts;
  const path = await spill?.(texts.join('\n\n'));
  let left = most;
  return parts.flatMap((part): ModelPart[] => {
    if (part.type !== 'text') return [part];
    if (left < 0) return [];
    const bytes = Buffer.from(part.text);
    if (bytes.length <= left) {
      left -= bytes.length;
      return [part];
    }
    const rest = `[… ${bytesText(total - most)} more ${path === undefined ? 'left out' : `in ${path}`}]`;
    const beginning = wholeCharacters(bytes, left);
    left = -1;
    return [{ type: 'text', text: beginning === '' ? rest : `${beginning}\n${rest}` }];
  });
}

/** The first `length` bytes as text, without a character that would be halved. */
function wholeCharacters(bytes: Buffer, length: number): string {
  let end = length;
  // Bytes that go on with a character begin with the bits 10.
  while (end > 0 && ((bytes[end] as number) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

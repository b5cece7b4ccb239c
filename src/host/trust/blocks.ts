// Results of tools, resources and prompts as one list of blocks, and how a block that is not shown is named. A block may be of
// any kind and lack anything.
import { isObject, type JsonObject } from '../../jsonrpc/index.ts';
import type { CallToolResult, GetPromptResult, ReadResourceResult } from '../../protocol/index.ts';
import { oneLine } from './visible.ts';

export type AnyResult = CallToolResult | ReadResourceResult | GetPromptResult;

export interface Piece {
  readonly block: JsonObject;
  /** Who says it, in a prompt. */
  readonly role: string | undefined;
}

/** The blocks of a result in order; structured content stands in, as JSON text with `indent`, where a tool gives nothing else. */
export function piecesOf(result: AnyResult, indent: 0 | 2): readonly Piece[] {
  const piece = (block: unknown, role?: string): Piece => ({ block: block as JsonObject, role });
  if ('content' in result) {
    const { content, structuredContent } = result;
    if (content.length > 0 || structuredContent === undefined) return content.map((block) => piece(block));
    return [piece({ type: 'text', text: jsonText(structuredContent, indent) })];
  }
  if ('contents' in result) return result.contents.map((resource) => piece({ type: 'resource', resource }));
  return result.messages.map(({ role, content }) => piece(content, role));
}

/** `user` or `assistant` where a block is meant for one of them alone. */
export function audienceOf(block: JsonObject): 'user' | 'assistant' | undefined {
  const audience = isObject(block['annotations']) ? block['annotations']['audience'] : undefined;
  if (!Array.isArray(audience)) return undefined;
  const [user, assistant] = [audience.includes('user'), audience.includes('assistant')];
  if (user === assistant) return undefined;
  return user ? 'user' : 'assistant';
}

/** The text a block holds, or undefined for a block of another nature. */
export function textOf(block: JsonObject): string | undefined {
  if (block['type'] === 'text' && typeof block['text'] === 'string') return block['text'];
  if (block['type'] !== 'resource' || !isObject(block['resource'])) return undefined;
  const { text } = block['resource'];
  return typeof text === 'string' ? `${nameOf(block)}\n${text}` : undefined;
}

/** Base64 and its media type, of an image, a sound, or a resource that is one of them. */
export function mediaOf(
  block: JsonObject,
): { readonly type: string; readonly data: string; readonly mimeType: string } | undefined {
  if (block['type'] === 'resource' && isObject(block['resource'])) {
    const { blob, mimeType } = block['resource'];
    const type = typeof mimeType === 'string' ? mimeType.split('/')[0] : undefined;
    if ((type !== 'image' && type !== 'audio') || typeof blob !== 'string') return undefined;
    return { type, data: blob, mimeType: mimeType as string };
  }
  const { type, data, mimeType } = block;
  if ((type !== 'image' && type !== 'audio') || typeof data !== 'string' || typeof mimeType !== 'string') return undefined;
  return { type, data, mimeType };
}

/** The size of what a block is for, as it came; undefined where that is the whole block. */
export function payloadOf(block: JsonObject): number | undefined {
  if (block['type'] === 'image' || block['type'] === 'audio') return lengthOf(block['data']);
  if (block['type'] !== 'resource' || !isObject(block['resource'])) return undefined;
  return lengthOf(block['resource']['text']) + lengthOf(block['resource']['blob']);
}

/** One line in square brackets that stands for a block. `fate` says what became of it: "omitted". */
export function nameOf(block: JsonObject, fate?: string): string {
  const { type } = block;
  const after = fate === undefined ? '' : ` ${fate}`;
  switch (type) {
    case 'text':
      return `[text${after}]`;
    case 'image':
    case 'audio':
      return `[${type}${after}: ${facts(block['mimeType'], sizeOf(block['data']))}]`;
    case 'resource': {
      const resource = isObject(block['resource']) ? block['resource'] : {};
      const mime = typeof resource['mimeType'] === 'string' ? ` (${oneLine(resource['mimeType'], 64)})` : '';
      const size = typeof resource['text'] === 'string' ? lengthOf(resource['text']) : sizeOf(resource['blob']);
      return `[resource${after}: ${short(resource['uri'])}${mime}, ${bytesText(size)}]`;
    }
    case 'resource_link':
      return `[resource link${after}: ${short(block['name'])} <${short(block['uri'])}>]`;
    default:
      return `[block of unknown type ${JSON.stringify(oneLine(typeof type === 'string' ? type : '', 64))}${after}]`;
  }
}

/** 812 bytes, 12 kB, 4.9 MB. */
export function bytesText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  if (bytes < 999_500) return `${Math.round(bytes / 1_000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

function facts(mimeType: unknown, size: number): string {
  return `${typeof mimeType === 'string' ? oneLine(mimeType, 64) : 'no type given'}, ${bytesText(size)}`;
}

function short(text: unknown): string {
  return typeof text === 'string' ? oneLine(text, 2_048) : '?';
}

function lengthOf(text: unknown): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : 0;
}

/** Bytes that Base64 stands for. */
function sizeOf(data: unknown): number {
  return typeof data === 'string' ? Math.floor((data.length * 3) / 4) : 0;
}

function jsonText(value: unknown, indent: number): string {
  try {
    return JSON.stringify(value, undefined, indent);
  } catch {
    return '[structured content too deep to be shown]';
  }
}

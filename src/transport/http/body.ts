// Reads the body of a POST as JSON, within limits. Whatever is refused is refused once, and the rest of it is read and
// thrown away, so that the client sees the answer.
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { rpcCode } from '../../jsonrpc/index.ts';
import { isJson } from './media.ts';
import { refuse } from './respond.ts';

/** Levels of arrays and objects a body may have. */
const MAX_DEPTH = 64;

/** Calls `take` with the value in the body of `request`; when there is none to be had, answers why instead. */
export function readJson(
  request: IncomingMessage,
  response: ServerResponse,
  maxBytes: number,
  take: (value: unknown) => void,
): void {
  const { 'content-type': type, 'content-encoding': encoding, 'content-length': length } = request.headers;
  if (!isJson(type)) return refuse(response, 415, 'The Content-Type must be application/json.');
  // Decoding would let a small body grow without bound.
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return refuse(response, 415, 'An encoded body is not accepted. Send it without Content-Encoding.');
  }
  const tooLarge = () => refuse(response, 413, `The body has more than ${String(maxBytes)} bytes. Send less at once.`);
  if (Number(length) > maxBytes) return tooLarge();

  let chunks: Buffer[] = [];
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    if (bytes > maxBytes) return;
    bytes += chunk.length;
    if (bytes <= maxBytes) return void chunks.push(chunk);
    chunks = [];
    tooLarge();
  });
  request.on('end', () => {
    if (bytes > maxBytes) return;
    const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes);
    chunks = [];
    if (isDeeper(body, MAX_DEPTH)) {
      return refuse(response, 400, `The body is nested more than ${String(MAX_DEPTH)} levels deep.`);
    }
    let value: unknown;
    try {
      if (!isUtf8(body)) throw new SyntaxError('not UTF-8');
      value = JSON.parse(body.toString());
    } catch {
      return refuse(response, 400, 'The body is not JSON in UTF-8.', { code: rpcCode.parseError });
    }
    take(value);
  });
}

/** True when JSON text has more than `levels` arrays and objects inside each other. Says nothing about text that is no JSON. */
function isDeeper(text: Buffer, levels: number): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at];
    if (inString) {
      if (byte === 0x5c) at++;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > levels) return true;
    } else if (byte === 0x7d || byte === 0x5d) depth--;
  }
  return false;
}

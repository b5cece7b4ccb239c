// Reads the body of a POST as JSON, within limits. Whatever is refused is refused once, and the rest of it is read and
// thrown away, so that the client sees the answer.
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isParleyError } from '../../errors.ts';
import { parseJson, rpcCode } from '../../jsonrpc/index.ts';
import { isJson } from './media.ts';
import { refuse } from './respond.ts';

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
    let value: unknown;
    try {
      if (!isUtf8(body)) throw new SyntaxError('not UTF-8');
      value = parseJson(body.toString());
    } catch (error) {
      if (isParleyError(error)) return refuse(response, 400, error.message);
      return refuse(response, 400, 'The body is not JSON in UTF-8.', { code: rpcCode.parseError });
    }
    take(value);
  });
}

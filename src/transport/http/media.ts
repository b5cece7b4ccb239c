// The two media types of the transport, as Content-Type and Accept headers speak of them (RFC 9110, sections 8.3 and 12.5.1).

/** What a client can read of the two forms an answer has. */
export type Readable = 'both' | 'json' | 'stream';

/** True when a Content-Type says JSON in UTF-8. */
export function isJson(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true;
  const [type = '', ...parameters] = (contentType ?? '').toLowerCase().split(';');
  if (type.trim() !== 'application/json') return false;
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='));
  return charset === undefined || /^charset="?utf-8"?$/.test(charset);
}

/** What an Accept header lets the answer be; without one both. Undefined when it allows neither. */
export function readable(accept: string | undefined): Readable | undefined {
  if (accept === undefined || accept === 'application/json, text/event-stream') return 'both';
  const weights = new Map<string, number>();
  for (const range of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(type, weight === undefined ? 1 : Number(weight.slice(2)));
  }
  const json = isAccepted(weights, 'application', 'json');
  const stream = isAccepted(weights, 'text', 'event-stream');
  if (json && stream) return 'both';
  if (json) return 'json';
  return stream ? 'stream' : undefined;
}

/** The most specific range that names a type decides about it. */
function isAccepted(weights: ReadonlyMap<string, number>, type: string, subtype: string): boolean {
  const weight = weights.get(`${type}/${subtype}`) ?? weights.get(`${type}/*`) ?? weights.get('*/*') ?? 0;
  return weight > 0;
}

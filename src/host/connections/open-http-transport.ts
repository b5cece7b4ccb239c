// The transport to a server at a URL, by itself: nothing else may load what speaks HTTP.
import type { Transport } from '../../jsonrpc/index.ts';
import { eitherTransport, httpTransport, sseTransport, type HttpTransportOptions } from '../../transport/index.ts';

/** The transport of that kind to the URL in `options`. @throws ParleyError `config-invalid` when the URL or a header cannot be used */
export function openHttpTransport(kind: 'http' | 'sse' | 'either', options: HttpTransportOptions): Transport {
  switch (kind) {
    case 'http':
      return httpTransport(options);
    case 'sse':
      return sseTransport(options);
    case 'either':
      return eitherTransport(options);
    default:
      return kind satisfies never;
  }
}

// One URL, two transports: Streamable HTTP, and HTTP+SSE for servers that know no better. Which of them a server speaks is found
// out by whoever makes the handshake; nothing is tried here.
import type { Transport } from '../jsonrpc/index.ts';
import { httpTransport, type HttpTransportOptions } from './http/client.ts';
import { sseTransport } from './sse/client.ts';

/** A transport with an older form to open instead, when the handshake found that the server does not speak the newer one. */
export interface TransportWithFallback extends Transport {
  readonly fallback: Transport;
}

/**
 * Returns the Streamable HTTP transport to a URL, with HTTP+SSE to the same URL as its fallback.
 * @throws ParleyError `config-invalid` when the URL or a header cannot be used
 * @see 2025-11-25 basic/transports, "Backwards Compatibility"
 */
export function eitherTransport(options: HttpTransportOptions): TransportWithFallback {
  return { ...httpTransport(options), fallback: sseTransport(options) };
}

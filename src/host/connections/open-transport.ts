// From a server as configured to the transport that reaches it.
import { join } from 'node:path';
import type { Limits } from '../../base/index.ts';
import type { Transport } from '../../jsonrpc/index.ts';
import { eitherTransport, httpTransport, sseTransport, stdioTransport } from '../../transport/index.ts';
import type { ServerConfig } from '../config/index.ts';

export interface OpenTransportOptions {
  /** Where each server's stderr is kept, as `NAME.log`. */
  readonly logDir?: string | undefined;
  readonly limits?: Limits | undefined;
}

/** The log file of the server called `name`. */
export function serverLogFile(logDir: string, name: string): string {
  return join(logDir, `${name}.log`);
}

/** The transport for `config`. Its values are secrets: nothing of them is kept but in the transport. */
export function openTransport(config: ServerConfig, options: OpenTransportOptions = {}): Transport {
  if (config.kind === 'stdio') {
    const { command, args, env, cwd } = config;
    return stdioTransport({
      ...options.limits,
      command,
      args,
      env,
      ...(cwd !== undefined && { cwd }),
      ...(options.logDir !== undefined && { logFile: serverLogFile(options.logDir, config.name) }),
    });
  }
  const { url, headers } = config;
  switch (config.transport) {
    case 'http':
      return httpTransport({ ...options.limits, url, headers });
    case 'sse':
      return sseTransport({ ...options.limits, url, headers });
    case 'either':
      return eitherTransport({ ...options.limits, url, headers });
    default:
      return config.transport satisfies never;
  }
}

// From a server as configured to the transport that reaches it.
import { join } from 'node:path';
import type { Limits } from '../../base/index.ts';
import type { Transport } from '../../jsonrpc/index.ts';
import { stdioTransport, type Authorizer } from '../../transport/index.ts';
import type { ServerConfig } from '../config/index.ts';

export interface OpenTransportOptions {
  /** Where each server's stderr is kept, as `NAME.log`. */
  readonly logDir?: string | undefined;
  readonly limits?: Limits | undefined;
  /** Folders that no server in a sandbox finds anything in. */
  readonly hide?: readonly string[] | undefined;
  /** Who gives requests over HTTP their credentials. Default: the headers of `config` are all there is. */
  readonly authorizer?: Authorizer | undefined;
}

/** The log file of the server called `name`. */
export function serverLogFile(logDir: string, name: string): string {
  return join(logDir, `${name}.log`);
}

/** Resolves with the transport for `config`. Its values are secrets: nothing of them is kept but in the transport. */
export async function openTransport(config: ServerConfig, options: OpenTransportOptions = {}): Promise<Transport> {
  if (config.kind === 'stdio') {
    const { command, args, env, cwd, privateCwd, sandbox } = config;
    return stdioTransport({
      ...options.limits,
      command,
      args,
      env,
      ...(cwd !== undefined && { cwd }),
      ...(privateCwd !== undefined && { privateCwd }),
      ...(sandbox !== undefined && { sandbox: { ...sandbox, hide: options.hide ?? [] } }),
      ...(options.logDir !== undefined && { logFile: serverLogFile(options.logDir, config.name) }),
    });
  }
  // Loaded when there is such a server: what reaches a program starts sooner without.
  const { openHttpTransport } = await import('./open-http-transport.ts');
  const { authorizer, limits } = options;
  const { transport, url, headers } = config;
  return openHttpTransport(transport, { ...limits, url, headers, ...(authorizer && { authorizer }) });
}

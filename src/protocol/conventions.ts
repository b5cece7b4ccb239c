// MCP's way to cancel and to report progress, for the JSON-RPC peer, which knows neither.
import type { Conventions } from '../jsonrpc/index.ts';
import { metaKey, withMeta } from './meta.ts';
import { notification } from './method.ts';

export const mcpConventions: Conventions = {
  cancel: (requestId, reason) => ({ method: notification.cancelled, params: { requestId, reason } }),
  cancelled(message) {
    if (message.method !== notification.cancelled) return undefined;
    const { requestId, reason } = message.params ?? {};
    return typeof reason === 'string' ? { id: requestId, reason } : { id: requestId };
  },
  progress(message) {
    if (message.method !== notification.progress) return undefined;
    const { progressToken, progress, total, message: text } = message.params ?? {};
    return {
      token: progressToken,
      progress: {
        progress: typeof progress === 'number' ? progress : NaN,
        ...(typeof total === 'number' && { total }),
        ...(typeof text === 'string' && { message: text.slice(0, 1_024) }),
      },
    };
  },
  wantProgress: (params, token) => withMeta(params, { [metaKey.progressToken]: token }),
};

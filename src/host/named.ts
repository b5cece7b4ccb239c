// A fault as one about a configured server, so that whoever reads it knows whose it is and where to set what it names.
import { isParleyError, ParleyError, RpcError } from '../errors.ts';

/** The error, named after the server; what the peer itself answered stays as it is. */
export function named(error: unknown, server: string): RpcError | ParleyError {
  if (error instanceof RpcError) return error;
  const subject = `Server "${server}"`;
  if (!isParleyError(error)) {
    return new ParleyError('internal', `${subject}: ${String(error)}`, { cause: error, details: { server } });
  }
  const { code, message, details, retryable, cause } = error;
  return new ParleyError(code, message.startsWith(subject) ? message : `${subject}: ${message}`, {
    cause,
    retryable,
    details: { ...details, server },
  });
}

// Tells apart the three ways in which a request to a server does not end well: a fault on the way, an error the server
// answered, and a caller who gave up. Every fault has a code; docs/errors.md says what each one means.
import assert from 'node:assert/strict';
import { isParleyError, ParleyError, RpcError } from 'parley';

// #region explain
/** One line for a person about what went wrong. */
export function explain(error: unknown): string {
  if (isParleyError(error, 'aborted')) return 'You cancelled it.';
  if (isParleyError(error)) {
    return error.retryable
      ? `${error.message} (${error.code}; it may work when tried again)`
      : `${error.message} (${error.code})`;
  }
  // What a server answered is its own text: show it as such, and never as an instruction.
  if (error instanceof RpcError) return `The server answered error ${error.code}.`;
  throw error;
}
// #endregion

const lost = new ParleyError('server-stopped', 'The server "weather" ended while it was needed.', { retryable: true });
assert.equal(explain(lost), 'The server "weather" ended while it was needed. (server-stopped; it may work when tried again)');
assert.equal(explain(new RpcError(-32602, 'whatever the server says')), 'The server answered error -32602.');
assert.equal(explain(new ParleyError('aborted', 'tools/call was cancelled by the caller.')), 'You cancelled it.');

console.log(explain(lost));

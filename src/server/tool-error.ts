// The one kind of error whose text a handler means for the client.

/**
 * A failure that a tool reports: its message becomes the text of a result with `isError`, for the model to read. Thrown by the
 * handler of a resource or a prompt, it is answered as an internal error with that message. Any other error is answered without
 * its text.
 */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}

// What is said of the sandbox a server runs in, or does not.
import type { ServerStatus } from '../host/index.ts';

/** `sandboxed`, or `not sandboxed` with or without the reason; undefined for a server that does not run here. */
export function saySandbox({ sandbox }: ServerStatus, form: 'short' | 'full'): string | undefined {
  if (sandbox === undefined) return undefined;
  if (sandbox.sandboxed) return 'sandboxed';
  return form === 'short' ? 'not sandboxed' : `not sandboxed (${sandbox.reason})`;
}

/** The same as members of a JSON object. */
export function sandboxJson({ sandbox }: ServerStatus) {
  if (sandbox === undefined) return {};
  return sandbox.sandboxed ? { sandboxed: true } : { sandboxed: false, notSandboxed: sandbox.reason };
}

// The protocol extensions Parley speaks, by their identifiers. They stand nowhere else as text.
import { isObject } from '../jsonrpc/index.ts';

export const extension = {
  /** Calls that go on after their answer (SEP-2663). */
  tasks: 'io.modelcontextprotocol/tasks',
} as const;

/** True when `capabilities`, of either side, declare the extension `name`. */
export function declares(capabilities: { readonly extensions?: unknown }, name: string): boolean {
  const { extensions } = capabilities;
  return isObject(extensions) && Object.hasOwn(extensions, name) && isObject(extensions[name]);
}

/** `capabilities` without the extension `name`: for revisions that know nothing of it. */
export function withoutExtension<C extends { readonly extensions?: unknown }>(capabilities: C, name: string): C {
  if (!declares(capabilities, name)) return capabilities;
  const { extensions, ...rest } = capabilities;
  const { [name]: _undeclared, ...others } = extensions as Record<string, unknown>;
  return (Object.keys(others).length === 0 ? rest : { ...rest, extensions: others }) as C;
}

// The accounts that one MCP server is used with: which there are, and which one counts where nobody says. No secrets.
import { ParleyError } from '../errors.ts';
import { canonicalResource } from './resource.ts';
import type { AuthStore, StoreName } from './store.ts';

/** The account that has no name of its own. */
export const DEFAULT_ACCOUNT = 'default';

export interface Accounts {
  /** The account that was signed in with last, also after it was signed out of: nobody is moved to another one unasked. */
  used(): Promise<string>;
  /** The accounts that are kept, in the order of their first sign-in. */
  list(): Promise<readonly string[]>;
  /** Puts `account` into the list. @throws ParleyError `usage` for what cannot be the name of one */
  add(account: string, options: { readonly signal: AbortSignal }): Promise<void>;
  /** The same, and uses it from now on. */
  use(account: string, options: { readonly signal: AbortSignal }): Promise<void>;
  /** Takes `account` out of the list. */
  forget(account: string, options: { readonly signal: AbortSignal }): Promise<void>;
}

/** True for 1 to 64 letters, digits and `.`, `_`, `@`, `+`, `-` that begin with a letter or digit. */
export function isAccountName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$/.test(name);
}

/** How an account stands in the names of a store. */
export function named(account: string): { readonly account?: string } {
  return account === DEFAULT_ACCOUNT ? {} : { account };
}

/** Returns the accounts that `store` has for the MCP server at `serverUrl`. */
export function createAccounts(store: AuthStore, serverUrl: string | URL): Accounts {
  const server = canonicalResource(new URL(serverUrl));
  const name: StoreName = { kind: 'accounts', server };
  const read = async () => {
    const { used, names } = (await store.get(name)) ?? {};
    const known = Array.isArray(names) ? names.filter((each) => typeof each === 'string' && isAccountName(each)) : undefined;
    // Sign-ins from before there were accounts are in none of these lists.
    return { used: typeof used === 'string' && isAccountName(used) ? used : DEFAULT_ACCOUNT, names: known ?? [DEFAULT_ACCOUNT] };
  };
  const change = (
    edit: (now: { used: string; names: readonly string[] }) => { used: string; names: readonly string[] },
    signal: AbortSignal,
  ) => store.exclusively(name, async () => store.set(name, edit(await read())), { signal });
  return {
    used: async () => (await read()).used,
    list: async () => (await read()).names as readonly string[],
    async add(account, { signal }) {
      checkName(account);
      await change(({ used, names }) => ({ used, names: [...new Set([...names, account])] }), signal);
    },
    async use(account, { signal }) {
      checkName(account);
      await change(({ names }) => ({ used: account, names: [...new Set([...names, account])] }), signal);
    },
    forget: (account, { signal }) =>
      change(({ used, names }) => ({ used, names: names.filter((each) => each !== account) }), signal),
  };
}

function checkName(account: string): void {
  if (isAccountName(account)) return;
  const message = `${JSON.stringify(account)} cannot be the name of an account. It has 1 to 64 letters, digits, ".", "_", "@", "+" or "-".`;
  throw new ParleyError('usage', message);
}

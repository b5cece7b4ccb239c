// The operating system's keychain: the Secret Service of a Linux desktop, the keychain of macOS, the Credential Manager of Windows.
// It is looked for only when a key is needed, and holds keys alone.
import { ParleyError } from '../errors.ts';

/** Keeps short secrets under names; the operating system may ask its user before it gives one out. */
export interface Keychain {
  /** @throws ParleyError `auth-required` when it is locked, or nobody lets us in */
  get(name: string): Promise<string | undefined>;
  /** @throws ParleyError as `get` */
  set(name: string, secret: string): Promise<void>;
  /** Never throws: what cannot be removed is of no use to anybody without the files. */
  delete(name: string): Promise<void>;
}

/** Under what the entries stand in the keychain. */
const SERVICE = 'Parley sign-ins';
/** The store of the kernel, which the package would take where there is no other, forgets with the machine. */
const OPTIONS = { linux: { store: 'secret-service' } } as const;

/** Resolves with the system's keychain; undefined where there is none. */
export async function systemKeychain(): Promise<Keychain | undefined> {
  const entry = await opener();
  if (entry === undefined) return undefined;
  return {
    get: async (name) => (await entered(() => entry(name).getPassword())) ?? undefined,
    set: (name, secret) => entered(() => entry(name).setPassword(secret)),
    delete: async (name) => {
      await entered(() => entry(name).deletePassword()).catch(() => {});
    },
  };
}

/** What opens an entry; undefined when there is no program for this system, or no keychain on it. */
async function opener() {
  try {
    const { AsyncEntry } = await import('@napi-rs/keyring');
    const entry = (name: string) => new AsyncEntry(SERVICE, name, OPTIONS);
    entry('probe');
    return entry;
  } catch {
    return undefined;
  }
}

async function entered<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (cause) {
    throw new ParleyError('auth-required', `The system's keychain is locked, or did not let Parley in. ${REMEDY}`, { cause });
  }
}

/** What to do about a keychain that is not to be had. */
export const REMEDY =
  'Unlock it and try again, or sign in anew with `parley mcp login NAME --key-in file`, which forgets what was kept before.';

// Which names a server may have. They become parts of tool names, file names and commands, so they are plain.

const VALID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** True for 1 to 64 letters, digits, `.`, `_` and `-` that begin with a letter or digit and hold no `__`. */
export function isServerName(name: string): boolean {
  return VALID.test(name) && !name.includes('__');
}

/** The nearest valid name, or `server` when nothing of it can stay. */
export function cleanServerName(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/_{2,}/g, '_')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 64)
    .replace(/[-._]+$/, '');
  return plain === '' ? 'server' : plain;
}

// The identifier of an MCP server as a protected resource, and when a token for one may be used at an address.
// @see RFC 8707, section 2; RFC 9728, section 3.3; basic/authorization, "Canonical Server URI"

/** The canonical URI: lower-case scheme and host, no fragment, and no slash where it stands for an empty path. */
export function canonicalResource(url: URL): string {
  const plain = new URL(url);
  plain.hash = '';
  plain.username = '';
  plain.password = '';
  return plain.pathname === '/' && plain.search === '' ? plain.origin : plain.href;
}

/** True when the two differ at most in how the same URI is written, or in a slash at the end. */
export function sameResource(identifier: string, url: URL): boolean {
  if (!URL.canParse(identifier)) return false;
  const other = new URL(identifier);
  if (other.username !== '' || other.password !== '' || identifier.includes('#')) return false;
  return slashless(other) === slashless(url);
}

/** True when `identifier` is of the same origin and its path is above that of `url`: it covers more than this server. */
export function isBroader(identifier: string, url: URL): boolean {
  if (!URL.canParse(identifier) || identifier.includes('#')) return false;
  const other = new URL(identifier);
  if (other.origin !== url.origin || other.username !== '' || other.password !== '' || other.search !== '') return false;
  const above = other.pathname.replace(/\/+$/, '');
  return url.pathname.startsWith(`${above}/`);
}

function slashless(url: URL): string {
  return `${url.origin}${url.pathname.replace(/\/$/, '')}${url.search}`;
}

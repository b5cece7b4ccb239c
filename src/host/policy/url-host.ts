// `host *.example.com`: does this URL lead to that host? Read by the platform's own URL parser. A URL that parsers disagree about
// leads there for a rule that asks or denies when one of its readings does, and never for one that allows.
import type { Care } from './care.ts';

/** A URL whose parts stand where they seem to: a scheme, two slashes, a host and a port, and then the end or `/`, `?` or `#`. */
const PLAIN = /^(?:https?|wss?):\/\/((?:\[[0-9a-f:.]+\]|[a-z0-9_.-]+))(?::\d{1,5})?(?=[/?#]|$)/i;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'ws:': '80', 'https:': '443', 'wss:': '443' };

interface Wanted {
  /** As URLs write it, behind the `*.` if there is one; undefined for any. */
  readonly name: string | undefined;
  readonly subdomains: boolean;
  /** Undefined for the scheme's own in rules that allow, and for any in others. `*` for any. */
  readonly port: string | undefined;
}

/**
 * A test for URLs. `example.com`, `*.example.com` (not example.com itself), `[::1]`, `*`; each with `:PORT` or `:*`.
 * @throws Error when the host cannot be one; to go behind "has a host that"
 */
export function compileHost(host: string, care: Care): (value: string) => boolean {
  const wanted = parseWanted(host);
  return care === 'strict' ? (value) => surelyAt(value, wanted) : (value) => perhapsAt(value, wanted);
}

function parseWanted(text: string): Wanted {
  const [, star, name, port] = /^(\*\.|\*(?=:|$))?(\[[^\]]*\]|[^:]*)(?::(\d{1,5}|\*))?$/.exec(text) ?? [];
  if (name === undefined || /[\s/@\\?#*%]/.test(name))
    throw new Error('is none: write example.com, *.example.com or [::1], perhaps with :PORT');
  if (name === '') {
    if (star === '*') return { name: undefined, subdomains: false, port };
    throw new Error('is empty');
  }
  const url = parsed(`http://${name}`);
  if (url === undefined || url.hostname === '') throw new Error('is none that a URL can have');
  if (star !== undefined && /^\[|\.\d+$/.test(url.hostname)) throw new Error('is an address, and addresses have no subdomains');
  return { name: url.hostname.replace(/\.$/, ''), subdomains: star !== undefined, port };
}

function surelyAt(value: string, wanted: Wanted): boolean {
  const shown = PLAIN.exec(value)?.[1];
  // Spaces and line ends in a URL are dropped by some and not by others.
  if (shown === undefined || /[\s\\\p{C}]/u.test(value)) return false;
  const url = parsed(value);
  // A host that is written otherwise than its parser says is one that other parsers may read otherwise.
  if (url === undefined || shown.toLowerCase() !== url.hostname) return false;
  const port = url.port === '' ? DEFAULT_PORTS[url.protocol] : url.port;
  const fitsPort = wanted.port === '*' || port === (wanted.port ?? DEFAULT_PORTS[url.protocol]);
  return fitsPort && fits(url.hostname, wanted);
}

function perhapsAt(value: string, wanted: Wanted): boolean {
  const text = value.trim().replace(/[\t\n\r]/g, '');
  const whole = [parsed(text), parsed(text.replaceAll('\\', '/'))];
  const authority = text
    .replace(/^[a-z][a-z0-9+.-]*:(?=[\\/])/i, '')
    .replace(/^[\\/]+/, '')
    .split('/', 1)[0] as string;
  // Each piece between the characters that parsers disagree about. What is no port behind a `:` is a path, as in `git@host:path`.
  const scheme = whole[0]?.protocol ?? 'any:';
  const pieces = authority
    .split(/[@\\?#]/)
    .map((piece) => parsed(`${scheme}//${piece}`) ?? parsed(`any://${piece.replace(/^(\[[^\]]*\]|[^:]*):.*$/, '$1')}`));
  const urls = [...whole, ...pieces].filter((url) => url !== undefined && url.hostname !== '') as URL[];
  // What no parser here takes for a URL leads there when it names the host at all.
  if (urls.length === 0) return wanted.name === undefined || text.toLowerCase().includes(wanted.name);
  return urls.some((url) => fitsLoosely(url, wanted));
}

function fitsLoosely(url: URL, wanted: Wanted): boolean {
  const port = url.port === '' ? DEFAULT_PORTS[url.protocol] : url.port;
  const fitsPort = wanted.port === undefined || wanted.port === '*' || port === undefined || port === wanted.port;
  // A scheme the platform does not know leaves its host as it was written.
  const host = (parsed(`http://${url.hostname}`) ?? url).hostname;
  const { name } = wanted;
  return fitsPort && fits(unmapped(host.replace(/\.+$/, '')), { ...wanted, name: name === undefined ? name : unmapped(name) });
}

/** An address of IPv6 that leads to one of IPv4, as that one. */
function unmapped(host: string): string {
  const [, high, low] = /^\[(?:::ffff:(?:0:)?|::|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(host) ?? [];
  if (high === undefined || low === undefined) return host;
  const bytes = [high, low].map((text) => parseInt(text, 16)).flatMap((word) => [word >> 8, word & 0xff]);
  return bytes.join('.');
}

function fits(hostname: string, { name, subdomains }: Wanted): boolean {
  if (name === undefined) return true;
  return subdomains ? hostname.endsWith(`.${name}`) && hostname.length > name.length + 1 : hostname === name;
}

function parsed(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

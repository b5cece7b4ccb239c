// The hosts that a text names in links, by the platform's own URL parser. Nothing is fetched.

const LINK =
  /\b(?:https?|wss?|ftp):[\\/]{1,8}(?:\[[0-9a-f:.]{2,64}\])?[^\s<>"'`\])}|]{0,2048}|(?<=\]\(\s{0,8}|(?:href|src|srcset)\s{0,8}=\s{0,8}["']?)\/\/[^\s<>"'`)]{1,2048}/gi;
/** What stands before a link that is loaded to be shown: Markdown's and HTML's pictures. */
const IMAGE =
  /(?:!\[[^\]\n]{0,256}\]\(\s{0,8}<?|<(?:img|image|source|iframe|link|script|video|audio|embed|object)\b[^>]{0,256}?=\s{0,8}["']?)$/i;
/** Of one text. */
const MOST_HOSTS = 32;
const MOST_LINKS = 1_000;

/** The hosts of links in the text, each once, in order; of `images` where a renderer would load them by itself. */
export function hostsIn(text: string): { readonly links: readonly string[]; readonly images: readonly string[] } {
  const links = new Set<string>();
  const images = new Set<string>();
  // Most text has none, and that is soon seen.
  if (!text.includes('//') && !text.includes(':\\')) return { links: [], images: [] };
  let seen = 0;
  for (const { 0: written, index } of text.matchAll(LINK)) {
    const host = hostOf(written);
    if (host === undefined) continue;
    links.add(host);
    if (IMAGE.test(text.slice(Math.max(0, index - 600), index))) images.add(host);
    if (links.size >= MOST_HOSTS || ++seen >= MOST_LINKS) break;
  }
  return { links: [...links], images: [...images] };
}

/** The host as URLs write it. */
export function canonicalHost(host: string): string {
  return hostOf(`http://${host}`) ?? host.toLowerCase();
}

function hostOf(written: string): string | undefined {
  const text = (written.startsWith('//') ? `https:${written}` : written).replace(/[.,;:!?]+$/, '');
  return URL.canParse(text) ? new URL(text).hostname.replace(/\.$/, '') || undefined : undefined;
}

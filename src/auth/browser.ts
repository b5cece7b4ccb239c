// A person at a browser: opens it without a shell, and receives what the authorization server sends back on an address of this
// machine that serves one sign-in. Nothing that arrives there is shown again, and only the answer to this sign-in is taken.
import { spawn } from 'node:child_process';
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ParleyError } from '../errors.ts';
import { systemClock, type Clock } from '../base/index.ts';
import { abortError } from '../jsonrpc/index.ts';
import type { Visit } from './authorize.ts';
import { isLoopbackUrl } from './guard.ts';
import type { Interaction, Question, ReturnAddress } from './obtain.ts';

export interface BrowserOptions {
  /** Shows a person where they are going to sign in, with the address in full; `opened` when their browser is being opened there. */
  readonly show: (visit: Visit & { readonly opened: boolean }) => void;
  /** Opens an address. `none`: the person does it. Default: the system's browser. */
  readonly open?: ((url: string) => Promise<void>) | 'none';
  /** Takes the address a person came back to from themselves, for a browser on another machine; whichever comes first is used. */
  readonly paste?: (options: { readonly signal: AbortSignal }) => Promise<string>;
  readonly confirm?: (question: Question, options: { readonly signal: AbortSignal }) => Promise<boolean>;
  readonly clock?: Clock;
}

const VISIT_MS = 300_000;
const MAX_REQUESTS = 20;
const MAX_HEADER_BYTES = 8_192;
const PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Parley</title>
<p>You can close this page and go back to Parley.</p></html>`;
const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
};

/** Returns a person who signs in with a browser. */
export function browserInteraction(options: BrowserOptions): Interaction {
  const { confirm } = options;
  return {
    open: ({ redirectUri, signal }) => openReturnAddress(redirectUri, signal, options),
    ...(confirm === undefined ? {} : { confirm }),
  };
}

export interface OpenBrowserOptions {
  /** The program that is given the address. Default: what the system opens addresses with. */
  readonly program?: string | undefined;
  /** Of these variables the program gets those that a browser needs. Default: the process's own. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/**
 * Opens a browser at `url`, as an argument of its own program; resolves when that was started.
 * @throws ParleyError `denied` for an address that is none for a sign-in, `unreachable` when there is no browser to be had
 */
export async function openBrowser(url: string, { program, env = process.env }: OpenBrowserOptions = {}): Promise<void> {
  const checked = URL.canParse(url) ? new URL(url) : undefined;
  if (checked?.protocol !== 'https:' && !(checked?.protocol === 'http:' && isLoopbackUrl(checked))) {
    throw new ParleyError('denied', 'A browser is opened at https addresses only.');
  }
  const [command, args] = program === undefined ? opener(process.platform, checked.href) : [program, [checked.href]];
  const child = spawn(command, args, { stdio: 'ignore', detached: true, windowsHide: true, env: browserEnvironment(env) });
  child.unref();
  await once(child, 'spawn').catch((cause: unknown) => {
    throw new ParleyError('unreachable', 'The browser could not be started. Open the address yourself.', { cause });
  });
}

/** The program that opens an address on `platform`, and its arguments. The address is one of them, and no shell sees it. */
export function opener(platform: NodeJS.Platform, href: string): [program: string, args: string[]] {
  switch (platform) {
    case 'darwin':
      return ['/usr/bin/open', [href]];
    case 'win32': {
      const root = process.env['SystemRoot'] ?? 'C:\\Windows';
      return [`${root}\\System32\\rundll32.exe`, ['url.dll,FileProtocolHandler', href]];
    }
    default:
      return ['xdg-open', [href]];
  }
}

/** What a browser needs to know of the session it is opened in. Keys and tokens that programs are given in variables stay here. */
const BROWSER_VARIABLES =
  /^(?:PATH|PATHEXT|HOME|USER|USERNAME|LOGNAME|SHELL|LANG|LANGUAGE|TZ|TERM|TE?MP|TMPDIR|DISPLAY|XAUTHORITY|BROWSER|DESKTOP_.*|SESSION_MANAGER|DBUS_SESSION_BUS_ADDRESS|(?:LC|XDG|WAYLAND|GDK|GTK|QT|KDE|GNOME|MOZ|WSL)_.*|WSLENV|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|OS|USERPROFILE|APPDATA|LOCALAPPDATA|PROGRAMDATA|PROGRAMFILES.*|COMMONPROGRAMFILES.*|PUBLIC|ALLUSERSPROFILE|HOMEDRIVE|HOMEPATH)$/i;

function browserEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => BROWSER_VARIABLES.test(name)));
}

/** Listens where `wanted` says, or on any free port and a path that nobody can guess. */
async function openReturnAddress(
  wanted: string | undefined,
  signal: AbortSignal,
  options: BrowserOptions,
): Promise<ReturnAddress> {
  const asked = wanted === undefined ? undefined : new URL(wanted);
  if (asked !== undefined && (asked.protocol !== 'http:' || !['127.0.0.1', 'localhost'].includes(asked.hostname))) {
    throw new ParleyError(
      'config-invalid',
      'A browser can come back to http://127.0.0.1 or http://localhost only. Correct the redirect URI.',
    );
  }
  if (signal.aborted) throw abortError(signal, 'Signing in');
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: 10_000, headersTimeout: 10_000 });
  const port = await listen(server, Number(asked?.port ?? 0));
  const host = asked?.hostname ?? '127.0.0.1';
  const redirectUri = `http://${host}:${port}${asked?.pathname ?? `/${randomBytes(16).toString('base64url')}`}`;
  const over = new AbortController();
  // Until somebody is sent anywhere there is nothing to come back from.
  server.on('request', (_request, response) => refuse(response, 404));
  return {
    redirectUri,
    visit: (visit, { signal: visiting }) =>
      receive(server, redirectUri, visit, AbortSignal.any([visiting, over.signal]), options),
    close: () =>
      new Promise((resolve) => {
        over.abort(new ParleyError('closed', 'The sign-in is over.'));
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch((cause: unknown) => {
    const message = `The redirect URI cannot be listened on: port ${port} of 127.0.0.1 is taken, or not allowed. Free it, or use another.`;
    throw new ParleyError('config-invalid', message, { cause });
  });
  return (server.address() as AddressInfo).port;
}

/** Shows and opens the address, and resolves with the one address that answers it. */
async function receive(
  server: Server,
  redirectUri: string,
  visit: Visit,
  signal: AbortSignal,
  { show, open = openBrowser, paste, clock = systemClock }: BrowserOptions,
): Promise<string> {
  const expected = new URL(redirectUri);
  const state = new URL(visit.url).searchParams.get('state') ?? '';
  const control = new AbortController();
  const ends = AbortSignal.any([signal, control.signal]);
  const came = new Promise<string>((resolve) => {
    let requests = 0;
    server.removeAllListeners('request');
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (++requests > MAX_REQUESTS) return void request.socket.destroy();
      const url = request.url?.startsWith('/') === true ? new URL(expected.origin + request.url) : undefined;
      if (request.headers.host !== expected.host || url?.pathname !== expected.pathname) return refuse(response, 404);
      if (request.method !== 'GET') return refuse(response, 405);
      // Anything on this machine may ask; only who was sent away with the state knows it.
      if (!equal(url.searchParams.get('state') ?? '', state)) return refuse(response, 400);
      response.writeHead(200, PAGE_HEADERS).end(PAGE, () => resolve(url.href));
      server.close();
    });
  });
  const stopped = new Promise<never>((_, reject) => {
    ends.addEventListener('abort', () => reject(abortError(ends, 'Signing in')), { once: true });
  });
  const timer = clock.after(VISIT_MS, () => {
    const message = 'Nobody came back from the sign-in within five minutes. Start it again.';
    control.abort(new ParleyError('timeout', message, { details: { afterMs: VISIT_MS } }));
  });
  try {
    show({ ...visit, opened: open !== 'none' });
    if (open !== 'none') {
      await open(visit.url).catch(() => {
        // The address was shown: a person can open it as well.
      });
    }
    const pasted = paste === undefined ? [] : [paste({ signal: ends }).then((text) => text.trim().slice(0, MAX_HEADER_BYTES))];
    return await Promise.race([came, stopped, ...pasted]);
  } finally {
    timer.cancel();
    control.abort(new ParleyError('closed', 'The sign-in is over.'));
  }
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, PAGE_HEADERS).end();
}

function equal(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

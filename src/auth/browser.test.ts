import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Visit } from './authorize.ts';
import { browserInteraction, openBrowser, opener, type BrowserOptions } from './browser.ts';
import type { ReturnAddress } from './obtain.ts';

const signal = new AbortController().signal;

interface Got {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

function ask(url: string, options: { readonly method?: string; readonly host?: string } = {}): Promise<Got | 'cut'> {
  return new Promise((resolve) => {
    const headers = options.host === undefined ? {} : { host: options.host };
    const asking = request(url, { method: options.method ?? 'GET', headers, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      response.once('end', () => resolve({ status: response.statusCode!, body, headers: response.headers }));
    });
    asking.once('error', () => resolve('cut'));
    asking.end();
  });
}

const visitTo = (state = 'right'): Visit => ({
  url: `https://as.example/authorize?state=${state}`,
  issuer: 'https://as.example',
  resource: 'https://mcp.example',
  scopes: [],
  added: [],
});

/** A sign-in under way, from the moment its address was shown. */
async function visiting(
  act: (address: ReturnAddress, came: Promise<string>) => Promise<void>,
  options: Partial<BrowserOptions> = {},
) {
  let shown!: () => void;
  const isShown = new Promise<void>((resolve) => (shown = resolve));
  const address = await browserInteraction({ open: 'none', show: () => shown(), ...options }).open({
    redirectUri: undefined,
    signal,
  });
  try {
    const came = address.visit(visitTo(), { signal });
    came.catch(() => {});
    await isShown;
    await act(address, came);
  } finally {
    await address.close();
  }
}

it('takes the answer to this sign-in, and shows a page that says nothing of it', async () => {
  await visiting(async ({ redirectUri }, came) => {
    expect(redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{22}$/);
    const got = (await ask(`${redirectUri}?code=c&state=right&x=%3Cscript%3E`)) as Got;
    expect(got).toMatchObject({
      status: 200,
      headers: { 'referrer-policy': 'no-referrer', 'content-security-policy': expect.stringContaining("default-src 'none'") },
    });
    expect(got.body).not.toMatch(/script|right|code/);
    expect(await came).toBe(`${redirectUri}?code=c&state=right&x=%3Cscript%3E`);
    expect(await ask(`${redirectUri}?code=again&state=right`)).toBe('cut');
  });
});

it('takes nothing else, and still waits afterwards', async () => {
  await visiting(async ({ redirectUri }, came) => {
    const { origin, port } = new URL(redirectUri);
    const good = '?code=c&state=right';
    const status = async (url: string, options?: Parameters<typeof ask>[1]) => ((await ask(url, options)) as Got).status;
    expect(await status(`${redirectUri}?code=c`)).toBe(400);
    expect(await status(`${redirectUri}?code=c&state=old`)).toBe(400);
    expect(await status(`${redirectUri}?code=c&state=`)).toBe(400);
    expect(await status(redirectUri + good, { method: 'POST' })).toBe(405);
    expect(await status(`${origin}/${good}`)).toBe(404);
    expect(await status(`${redirectUri}/x${good}`)).toBe(404);
    for (const host of [`localhost:${port}`, '127.0.0.1', 'evil.example', `evil.example:${port}`]) {
      expect(await status(redirectUri + good, { host })).toBe(404);
    }
    expect(await ask(redirectUri + good.padEnd(9_000, 'x'))).not.toMatchObject({ status: 200 });
    await ask(redirectUri + good);
    expect(await came).toBe(redirectUri + good);
  });
});

it('answers no more than a few requests', async () => {
  await visiting(async ({ redirectUri }) => {
    const got: (Got | 'cut')[] = [];
    for (let count = 0; count < 25; count++) got.push(await ask(redirectUri));
    expect(got.filter((one) => one === 'cut')).toHaveLength(5);
  });
});

it('does not mix up two sign-ins', async () => {
  await visiting(async (first, firstCame) => {
    await visiting(async (second) => {
      expect(second.redirectUri).not.toBe(first.redirectUri);
      const path = new URL(first.redirectUri).pathname;
      expect(await ask(new URL(`${path}?code=c&state=right`, second.redirectUri).href)).toMatchObject({ status: 404 });
      await ask(`${first.redirectUri}?code=c&state=right`);
      expect(await firstCame).toContain(first.redirectUri);
    });
  });
});

it('listens where it is told to, and says so when that cannot be', async () => {
  const person = browserInteraction({ open: 'none', show: () => {} });
  const anyPort = await person.open({ redirectUri: 'http://127.0.0.1/back', signal });
  expect(anyPort.redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/back$/);
  await expect(person.open({ redirectUri: anyPort.redirectUri, signal })).rejects.toMatchObject({ code: 'config-invalid' });
  expect(await ask(`${anyPort.redirectUri}?code=c&state=`)).toMatchObject({ status: 404 });
  await anyPort.close();
  await anyPort.close();
  for (const redirectUri of ['https://127.0.0.1/x', 'http://0.0.0.0/x', 'http://parley.example/x']) {
    await expect(person.open({ redirectUri, signal })).rejects.toMatchObject({ code: 'config-invalid' });
  }
});

it('takes the address from the person where the browser is elsewhere, and ends with the caller', async () => {
  await visiting(async (_, came) => expect(await came).toBe('http://pasted'), { paste: async () => ' http://pasted\n' });
  const address = await browserInteraction({ open: 'none', show: () => {} }).open({ redirectUri: undefined, signal });
  const control = new AbortController();
  const came = address.visit(visitTo(), { signal: control.signal });
  control.abort();
  await expect(came).rejects.toMatchObject({ code: 'aborted' });
  await address.close();
});

it('opens the address that was shown, and goes on when that fails', async () => {
  const opened: unknown[] = [];
  await visiting(
    async ({ redirectUri }, came) => {
      await ask(`${redirectUri}?state=right`);
      await came;
    },
    {
      open: async (url) => {
        opened.push(url);
        throw new Error('no browser');
      },
    },
  );
  expect(opened).toEqual([visitTo().url]);
});

it('gives a browser one address as one argument, and no other kind of address', async () => {
  const url = 'https://as.example/a?b=$(x)&c=`y`|z;"\'%0A --flag';
  for (const platform of ['linux', 'darwin', 'win32'] as const) {
    const [program, args] = opener(platform, new URL(url).href);
    expect(program).not.toMatch(/\b(sh|cmd|powershell)\b/);
    expect(args.at(-1)).toBe(new URL(url).href);
  }
  for (const bad of ['file:///etc/passwd', 'javascript:alert(1)', 'http://as.example', '--help', 'parley://x']) {
    await expect(openBrowser(bad)).rejects.toMatchObject({ code: 'denied' });
  }
});

it('starts the program it is told to, which learns of the session it is in and of no key', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'parley-browser-'));
  const program = join(directory, 'browser');
  const seen = join(directory, 'seen');
  writeFileSync(program, `#!/bin/sh\n{ echo "$#" "$1"; env; } > '${seen}.part'\nmv '${seen}.part' '${seen}'\n`, { mode: 0o755 });
  const env = {
    PATH: process.env['PATH'],
    DISPLAY: ':7',
    XDG_SESSION_TYPE: 'x11',
    CLIENT_SECRET: 's3cret',
    DOCS_TOKEN: 's3cret',
  };
  await openBrowser('https://as.example/a?b=c&d=e', { program, env });
  await expect.poll(() => existsSync(seen)).toBe(true);
  const text = readFileSync(seen, 'utf8');
  expect(text).toMatch(/^1 https:\/\/as\.example\/a\?b=c&d=e\n/);
  expect(text).toContain('DISPLAY=:7\n');
  expect(text).toContain('XDG_SESSION_TYPE=x11\n');
  expect(text).not.toContain('s3cret');
  rmSync(directory, { recursive: true });
  await expect(openBrowser('https://as.example', { program, env })).rejects.toMatchObject({ code: 'unreachable' });
});

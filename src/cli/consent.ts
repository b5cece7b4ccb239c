// A person who signs in from the command line: shown where to, asked what has to be asked, and never sent anywhere by a command
// that no terminal is attached to, unless they said so.
import type { BrowserOptions, Interaction, Question } from '../auth/index.ts';
import { oneLine } from '../host/index.ts';
import type { Io } from './io.ts';
import type { Lines } from './lines.ts';
import { inTurn, question } from './terminal.ts';

export interface ConsentOptions {
  /** The server's name in the configuration. */
  readonly server: string;
  readonly account: string;
  /** True to open a browser, false to leave that to the person. Default: where a terminal is. */
  readonly browser: boolean | undefined;
  /** What comes in by a pipe, where there is no terminal. */
  readonly lines: Lines;
}

/** The person at `io`. */
export async function consentAt(io: Io, { server, account, browser, lines }: ConsentOptions): Promise<Interaction> {
  const { browserInteraction, openBrowser } = await import('../auth/index.ts');
  const opens = browser ?? io.interactive;
  const program = browserOf(io.env);
  const options: BrowserOptions = {
    open: opens ? (url) => openBrowser(url, { program, env: io.env }) : 'none',
    show({ url, issuer, scopes, added, opened }) {
      const more = added.length === 0 || added.length === scopes.length ? '' : `; new are ${oneLine(added.join(' '), 200)}`;
      const rights = scopes.length === 0 ? '' : `, for the scopes ${oneLine(scopes.join(' '), 400)}${more}`;
      io.stderr.write(`Sign in to "${server}" (account ${account}) at ${oneLine(issuer, 200)}${rights}.\n`);
      io.stderr.write(opened ? 'A browser is being opened at this address:\n' : 'Open this address in a browser:\n');
      io.stderr.write(`\n${url}\n\n`);
      io.stderr.write('If the browser is on another machine, paste the address that it ends at here.\n');
    },
    paste: async ({ signal }) => {
      const line = io.interactive ? await question(io, '> ', signal) : await lines.next('');
      // Nothing more comes in: the browser can still come back.
      return line ?? new Promise<never>(() => {});
    },
    ...(io.interactive && {
      confirm: (asked: Question, { signal }: { readonly signal: AbortSignal }) =>
        inTurn(io, async () => {
          io.stderr.write(`${consequence(asked)}\n`);
          return /^y/i.test((await question(io, 'Go on? [y]es or [n]o (Enter is no): ', signal)) ?? '');
        }),
    }),
  };
  return browserInteraction(options);
}

function consequence(asked: Question): string {
  switch (asked.kind) {
    case 'issuer-changed':
      return (
        `${asked.server} used to be protected by ${oneLine(asked.from, 200)} and now names ${oneLine(asked.to, 200)}. ` +
        'Nothing of the old sign-in is sent there; you would sign in anew.'
      );
    case 'broader-resource':
      return `The tokens would be good for all of ${oneLine(asked.resource, 200)}, and not for ${asked.server} alone.`;
    default:
      return asked satisfies never;
  }
}

/** The program that BROWSER names; what else that variable may hold is left to the system's opener, which reads it too. */
function browserOf({ BROWSER }: Io['env']): string | undefined {
  return BROWSER !== undefined && /^[^\s:%]+$/.test(BROWSER) ? BROWSER : undefined;
}

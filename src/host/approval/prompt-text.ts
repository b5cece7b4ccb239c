// What a terminal shows when it asks for approval. Written by Parley from the intent alone. Every line that holds text from a
// server, a model or a file stands behind a gutter mark and is broken here, so that column 0 is Parley's own.
import { canonical } from '../../base/index.ts';
import { GUTTER, unmasked, visible } from '../trust/index.ts';
import type { ApprovalRequest } from './approver.ts';
import type { CallIntent } from './intent.ts';

/** Narrower terminals are written for as if they had this many columns. */
const NARROWEST = 20;
/** Lines of a server's description of its tool. Arguments are never cut. */
const DESCRIPTION_LINES = 12;

const HEADINGS = { tool: 'Tool:', resource: 'Resource that is read:', prompt: 'Prompt that is fetched:' } as const;

/**
 * The lines of the question, without line ends, none wider than `columns` (default 80). Arguments are whole, however long: a
 * terminal shows the lines in pages and offers to allow only after the last.
 */
export function promptLines(request: ApprovalRequest, options: { readonly columns?: number } = {}): readonly string[] {
  const { intent, because, trusted, widest, changes = [], floating = false, proposals = [] } = request;
  const columns = Math.max(NARROWEST, options.columns ?? 80);
  const own = (text: string) => wrapped(text, columns);
  const quoted = (text: string) => cut(visible(unmasked(text)), columns - GUTTER.length).map((line) => GUTTER + line);
  return [
    ...own(intent.kind === 'tool' ? 'A tool is about to be called.' : 'Something is about to be read.'),
    ...own(`Server, ${trusted ? 'trusted to describe its tools rightly' : 'not trusted'}:`),
    ...quoted(intent.server),
    ...(intent.serverDigest === ''
      ? []
      : own(`What it is, whatever it is called, has the digest ${intent.serverDigest.slice(0, 16)}.`)),
    ...(floating ? own('It fetches what it runs, in no certain version, so nothing is allowed for it beyond this run.') : []),
    ...own(HEADINGS[intent.kind]),
    ...quoted(intent.definition.name),
    ...own(`Arguments, all ${Buffer.byteLength(canonical(intent.args))} bytes of them:`),
    ...JSON.stringify(intent.args, undefined, 2).split('\n').flatMap(quoted),
    ...description(intent, { own, quoted }),
    ...(changes.length > 0 ? own('What changed in it since it was allowed before (- was, + is):') : []),
    ...changes.flatMap(quoted),
    ...own('Why you are asked:'),
    ...wrapped(visible(because), columns - GUTTER.length).flatMap(quoted),
    ...own(`This call has the digest ${intent.digest.slice(0, 16)}.`),
    ...own(
      widest === 'once'
        ? 'You can allow this one call only.'
        : 'To allow it for this run covers this tool with any arguments, not only these, until Parley ends or the tool changes.',
    ),
    ...(proposals.length === 0
      ? []
      : own('To allow it always covers one of these, as you choose, until the tool or its server changes:')),
    ...proposals.flatMap(({ label }, at) => quoted(`${at + 1}  ${label}`)),
  ];
}

function description(
  { kind, definition: { description: text = '' } }: CallIntent,
  { own, quoted }: Record<'own' | 'quoted', (text: string) => readonly string[]>,
): readonly string[] {
  if (text.trim() === '') return kind === 'tool' ? own('The server does not say what the tool does.') : [];
  const lines = text.split(/\r\n|\r|\n/).flatMap(quoted);
  const more = lines.length - DESCRIPTION_LINES;
  return [
    ...own(kind === 'tool' ? 'What the server says the tool does:' : 'What is said of it:'),
    ...lines.slice(0, DESCRIPTION_LINES),
    ...(more > 0 ? own(`(${more} more lines of the server's text are left out.)`) : []),
  ];
}

/** Parley's own text, broken between words. */
function wrapped(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1) ?? ''} ${word}`;
    if (lines.length > 0 && longer.length <= columns) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** Somebody else's text, broken wherever the line is full, so that nothing of it is lost or moved. */
function cut(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  let width = 0;
  for (const char of text) {
    // Terminals differ in what is two columns wide. All that is not ASCII is counted so: then none breaks a line by itself.
    const wide = char.length === 1 && char <= '~' ? 1 : 2;
    if (width + wide > columns) {
      lines.push(line);
      line = '';
      width = 0;
    }
    line += char;
    width += wide;
  }
  return [...lines, line];
}

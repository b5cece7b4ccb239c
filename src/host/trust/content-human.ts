// What a person sees of a result in a terminal: every line of it visible, behind the gutter, and no longer than a person reads.
// Nothing is hidden from the person, whomever it is meant for; lines without the gutter are ours.
import { audienceOf, nameOf, piecesOf, textOf, type AnyResult } from './blocks.ts';
import { cut, GUTTER, visible } from './visible.ts';

export interface HumanOptions {
  /** Default 200. */
  readonly lines?: number;
  /** Of the whole text. Default 65,536. */
  readonly characters?: number;
  /** Of one line. Default 4,096. */
  readonly lineCharacters?: number;
}

/** The result, or a text, as lines for a terminal, without a line end behind the last; it says what was cut. */
export function contentForHuman(result: AnyResult | string, options: HumanOptions = {}): string {
  const page = createPage(options);
  if (typeof result === 'string') {
    page.quote(result);
    return page.finish();
  }
  const pieces = piecesOf(result, 2);
  if (pieces.length === 0) page.say('(no content)');
  for (const { block, role } of pieces) {
    const audience = audienceOf(block);
    if (role !== undefined) page.say(role === 'assistant' ? 'assistant:' : 'user:');
    if (audience === 'user') page.say('(for you only; the model does not get it)');
    if (audience === 'assistant') page.say('(meant for the model)');
    page.quote(textOf(block) ?? nameOf(block));
  }
  return page.finish();
}

function createPage({ lines: mostLines = 200, characters = 65_536, lineCharacters = 4_096 }: HumanOptions) {
  const lines: string[] = [];
  let left = characters;
  let linesOut = 0;
  let linesCut = 0;

  /** True when there was room. */
  const add = (line: string): boolean => {
    if (lines.length >= mostLines || line.length > left) {
      // From the first line that has no room on, all are out: what is shown is a beginning.
      left = 0;
      linesOut++;
      return false;
    }
    left -= line.length;
    lines.push(line);
    return true;
  };

  return {
    say: (line: string) => void add(line),
    quote(text: string) {
      for (let at = 0, next: number; at < text.length || at === 0; at = next) {
        const lineEnd = text.indexOf('\n', at);
        const end = lineEnd === -1 ? text.length : lineEnd;
        next = end + 1;
        if (left === 0) {
          linesOut++;
          continue;
        }
        const line = text.slice(at, lineEnd > at && text[end - 1] === '\r' ? end - 1 : end);
        const shown = visible(cut(line, lineCharacters), { multiline: true });
        if (line.length <= lineCharacters && shown.length <= lineCharacters) {
          add(`${GUTTER}${shown}`);
        } else if (add(`${GUTTER}${visible(cut(shown, lineCharacters), { multiline: true })}…`)) {
          linesCut++;
        }
      }
    },
    finish(): string {
      const notes = [
        ...(linesCut > 0
          ? [`(${linesCut} long ${linesCut === 1 ? 'line was' : 'lines were'} cut at ${lineCharacters} characters)`]
          : []),
        ...(linesOut > 0 ? [`(${linesOut} more ${linesOut === 1 ? 'line' : 'lines'})`] : []),
      ];
      return [...lines, ...notes].join('\n');
    },
  };
}

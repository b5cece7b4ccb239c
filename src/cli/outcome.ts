// Prints what became of a call or a read, in the specification's shape where that is asked for, and gives the exit code.
import { forHuman, forWire, sayFindings, sayOutcome, type Held, type Outcome } from '../host/index.ts';
import type { CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult } from '../protocol/index.ts';
import { exitOfOutcome } from './exit.ts';
import type { Printer } from './output.ts';

type Result = CallToolResult | ReadResourceResult | GetPromptResult;

export function printOutcome<R extends Result>(printer: Printer, outcome: Outcome<Held<R>>): number {
  const { exit, code } = exitOfOutcome(outcome);
  if (outcome.type !== 'ok' && outcome.type !== 'tool-error') {
    const hint = outcome.type === 'denied' ? ` ${outcome.because}${remedy(outcome)}` : '';
    const ticket = outcome.type === 'denied' ? outcome.ticket : undefined;
    printer.error(code, `${sayOutcome(outcome)}${hint}`, { ticket });
    return exit;
  }
  const { value, findings, verdict, errors } = outcome.result;
  const wire = forWire(value);
  printer.result({
    json: wire,
    text: () => forHuman(value, { lines: Infinity, characters: Infinity }),
    raw: () => rawText(wire),
    ndjson: () => [{ type: 'result', result: wire }],
  });
  if (outcome.type === 'tool-error') printer.error(code, 'The tool reported an error; its own words are above.');
  const found = sayFindings(findings);
  if (found !== undefined) printer.say(found);
  for (const { kind, where, detail } of findings) printer.detail(`${where}: ${kind}, ${detail}`);
  if (verdict === 'invalid' || verdict === 'missing') {
    printer.say(`The structured content does not fit the tool's output schema: ${errors.join('; ') || verdict}.`);
  }
  return exit;
}

/** How the call can be made all the same, where that is up to whoever typed it. */
function remedy({ by, widest }: Extract<Outcome<never>, { readonly type: 'denied' }>): string {
  if (widest === undefined) return '';
  const park = 'keep it for an answer with --non-interactive park';
  const isFree = by === 'no-terminal' && widest === 'run';
  return isFree
    ? ` Call it at a terminal, ${park}, or allow it with --allow SERVER/TOOL.`
    : ` Call it at a terminal, or ${park}.`;
}

/** The text of a result as it is, and Base64 for what is no text. */
function rawText(result: Result): string {
  if ('contents' in result) return result.contents.map(({ text, blob }) => text ?? blob ?? '').join('\n');
  if ('messages' in result) return result.messages.map(({ content }) => rawBlock(content)).join('\n');
  if (result.content.length === 0 && result.structuredContent !== undefined) return JSON.stringify(result.structuredContent);
  return result.content.map(rawBlock).join('\n');
}

function rawBlock(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return block.data;
    case 'resource':
      return block.resource.text ?? block.resource.blob ?? '';
    case 'resource_link':
      return block.uri;
    default:
      return JSON.stringify(block satisfies never);
  }
}

// Answers at the terminal what a server asks of the person: forms, field by field, and addresses to visit. All of the server's
// text stands behind the gutter, nothing is opened by itself, and an empty answer to the first question declines.
import type { InputHandlers } from '../client/index.ts';
import { gutter, oneLine, visible } from '../host/index.ts';
import { checkField, type ElicitFormParams, type ElicitResult, type FormField, type FormValue } from '../protocol/index.ts';
import { inTurn, question, type Terminal } from './terminal.ts';

/** Fields a form may have. */
const MOST_FIELDS = 32;

/** The handlers for what `server` asks of a person. */
export function terminalInputs(terminal: Terminal, server: string): InputHandlers {
  return {
    elicitForm: (params, { signal }) => inTurn(terminal, () => form(terminal, server, params, signal)),
    elicitUrl: ({ message, url }, { signal }) =>
      inTurn(terminal, async () => {
        say(terminal, `Server "${server}" asks you to visit an address. It says:`, message);
        say(terminal, `The address, at ${new URL(url).host}:`, url);
        const answer = await question(terminal, 'Will you open it yourself? [y]es or [n]o (Enter is no): ', signal);
        return { action: /^y/i.test(answer ?? '') ? 'accept' : 'decline' };
      }),
  };
}

async function form(terminal: Terminal, server: string, params: ElicitFormParams, signal: AbortSignal): Promise<ElicitResult> {
  const fields = Object.entries(params.requestedSchema.properties);
  say(
    terminal,
    `Server "${server}" asks you for ${fields.length} value${fields.length === 1 ? '' : 's'}. It says:`,
    params.message,
  );
  if (fields.length > MOST_FIELDS) {
    terminal.stderr.write(`That is more than ${MOST_FIELDS}; it was declined.\n`);
    return { action: 'decline' };
  }
  const consent = await question(terminal, 'Answer it? [y]es or [n]o (Enter is no): ', signal);
  if (!/^y/i.test(consent ?? '')) return { action: 'decline' };
  const content: Record<string, FormValue> = {};
  for (const [name, field] of fields) {
    const required = params.requestedSchema.required?.includes(name) === true;
    const value = await ask(terminal, name, field, required, signal);
    if (value === 'stop') return { action: 'cancel' };
    if (value !== undefined) Object.defineProperty(content, name, { value: value.is, enumerable: true, configurable: true });
  }
  return { action: 'accept', content };
}

/** Asks until the value fits; undefined leaves the field out, so that a default of the server's counts. */
async function ask(
  terminal: Terminal,
  name: string,
  field: FormField,
  required: boolean,
  signal: AbortSignal,
): Promise<{ readonly is: FormValue } | undefined | 'stop'> {
  say(terminal, describe(name, field, required), field.description ?? '');
  for (;;) {
    const line = await question(terminal, `${oneLine(name, 40)} (! stops): `, signal);
    if (line === undefined || line.trim() === '!') return 'stop';
    if (line === '' && (!required || field.default !== undefined)) return undefined;
    const value = read(line, field);
    const problem = checkField(field, value);
    if (problem === undefined) return { is: value };
    terminal.stderr.write(`It ${visible(problem)}.\n`);
  }
}

function describe(name: string, field: FormField, required: boolean): string {
  const facts = [
    field.type === 'array' ? 'several, with commas between' : field.type,
    required ? 'required' : 'Enter leaves it out',
    ...(field.default === undefined ? [] : [`the server's default: ${oneLine(JSON.stringify(field.default), 80)}`]),
    ...choices(field),
  ];
  return `${oneLine(field.title === undefined ? name : `${field.title} (${name})`, 80)}: ${facts.join('; ')}`;
}

/** Each choice as it is sent, and under what name it is shown. */
function choices(field: FormField): string[] {
  const among =
    field.type === 'array'
      ? (field.items.anyOf ?? field.items.enum)
      : field.type === 'string'
        ? (field.oneOf ?? field.enum)
        : undefined;
  if (among === undefined) return [];
  const texts = among.map((choice) => (typeof choice === 'string' ? choice : `${choice.const} (${choice.title})`));
  return [`one of ${oneLine(texts.join(', '), 400)}`];
}

function read(line: string, field: FormField): FormValue {
  switch (field.type) {
    case 'number':
    case 'integer':
      return line.trim() === '' ? NaN : Number(line);
    case 'boolean':
      return /^(y|yes|true)$/i.test(line.trim()) ? true : /^(n|no|false)$/i.test(line.trim()) ? false : line;
    case 'array':
      return line.trim() === '' ? [] : line.split(',').map((item) => item.trim());
    default:
      return line;
  }
}

function say({ stderr }: Terminal, ours: string, theirs: string): void {
  stderr.write(`\n${ours}\n${theirs === '' ? '' : `${gutter(visible(theirs, { multiline: true }))}\n`}`);
}

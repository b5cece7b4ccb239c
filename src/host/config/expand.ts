// Placeholders in configuration: `${VAR}`, `${VAR:-default}`, `${env:VAR}`, `${input:id}`, `${workspaceFolder}`, `${userHome}`.
// One pass from left to right; what is filled in is never looked at again. `$${` stands for a literal `${`, any other `$` for itself.
import { ParleyError } from '../../errors.ts';
import { quoted } from './diagnostic.ts';

/** What one placeholder stands for. */
export type Reference =
  | { readonly kind: 'variable'; readonly name: string; readonly fallback?: string }
  | { readonly kind: 'input'; readonly id: string }
  | { readonly kind: 'place'; readonly name: 'workspaceFolder' | 'userHome' };

const VARIABLE = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;
const INPUT = /^input:([A-Za-z0-9_.-]+)$/;

/** True when there is anything to expand. */
export function hasPlaceholder(text: string): boolean {
  return text.includes('${');
}

/** The references in `text`, in order. @throws ParleyError `config-invalid` for a placeholder that is not one. */
export function references(text: string): Reference[] {
  return pieces(text).filter((piece) => typeof piece !== 'string');
}

/** `text` with every placeholder replaced by what `resolve` gives for it. @throws ParleyError `config-invalid`, also from `resolve`. */
export function expand(text: string, resolve: (reference: Reference) => string): string {
  if (!hasPlaceholder(text)) return text;
  return pieces(text)
    .map((piece) => (typeof piece === 'string' ? piece : resolve(piece)))
    .join('');
}

/** The value of a variable, its fallback when it is unset or empty, or undefined when it is unset and has no fallback. */
export function variable(
  reference: Reference & { kind: 'variable' },
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  // An own property only: `${constructor}` is a variable like any other.
  const value = Object.hasOwn(env, reference.name) ? env[reference.name] : undefined;
  return reference.fallback === undefined ? value : value || reference.fallback;
}

/** Literal text and references, alternating as they come. */
function pieces(text: string): (string | Reference)[] {
  const found: (string | Reference)[] = [];
  let from = 0;
  for (let open = text.indexOf('${'); open !== -1; open = text.indexOf('${', from)) {
    if (open > from && text[open - 1] === '$') {
      found.push(text.slice(from, open - 1), '${');
      from = open + 2;
      continue;
    }
    const close = text.indexOf('}', open);
    if (close === -1)
      throw invalid('a placeholder is opened with "${" and not closed. Close it with "}", or write "$${" for a literal "${".');
    found.push(text.slice(from, open), reference(text.slice(open + 2, close)));
    from = close + 1;
  }
  found.push(text.slice(from));
  return found;
}

function reference(body: string): Reference {
  if (body === 'workspaceFolder' || body === 'userHome') return { kind: 'place', name: body };
  if (body.includes('{'))
    throw invalid(`placeholders cannot stand inside one another, and a default cannot hold "{" (${shown(body)}).`);
  const [, id] = INPUT.exec(body) ?? [];
  if (id !== undefined) return { kind: 'input', id };
  const [, name, fallback] = VARIABLE.exec(body) ?? [];
  if (name === undefined) {
    throw invalid(
      `${shown(body)} is not a placeholder. There are \${VAR}, \${VAR:-default}, \${env:VAR}, \${input:id}, \${workspaceFolder} ` +
        'and ${userHome}; write "$${" for a literal "${".',
    );
  }
  return { kind: 'variable', name, ...(fallback !== undefined && { fallback }) };
}

/** The body up to a default, which may be a secret. */
function shown(body: string): string {
  return quoted(`\${${body.split(':-', 1)[0]}`);
}

function invalid(message: string): ParleyError {
  return new ParleyError('config-invalid', message);
}

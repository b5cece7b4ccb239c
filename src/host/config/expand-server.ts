// From a server as written to a server ready to open. Do this only once the server may be launched, and never print the result.
import { existsSync, realpathSync } from 'node:fs';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { ParleyError } from '../../errors.ts';
import { quoted } from './diagnostic.ts';
import { expand, type Reference, references, variable } from './expand.ts';
import { eachText, type Field, mapTexts, problemOf } from './launch.ts';
import { mapOAuthTexts } from './oauth.ts';
import type { Launch, ServerConfig, ServerDefinition } from './shape.ts';

/** Answers `${input:id}`, usually by asking a person, and gives up when the signal says so. Undefined when nobody knows. */
export type AskInput = (
  id: string,
  options: { readonly signal?: AbortSignal },
) => string | undefined | Promise<string | undefined>;

/** What placeholders are filled in from. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** The project's root. */
  readonly workspaceFolder: string;
  readonly inputs?: ReadonlyMap<string, string> | AskInput;
  readonly signal?: AbortSignal;
}

/**
 * The server with every placeholder filled in and checked once more. Each input is asked for once.
 * @throws ParleyError `config-invalid` naming the server, the key and the variable or input that is missing.
 */
export async function expandServer(server: ServerDefinition, surroundings: Surroundings): Promise<ServerConfig> {
  const inputs = await answers(server, surroundings);
  const filled = (text: string, fault: (message: string) => ParleyError) =>
    expand(text, (reference) => {
      if (reference.kind === 'place') return reference.name === 'userHome' ? surroundings.home : surroundings.workspaceFolder;
      const value = reference.kind === 'variable' ? variable(reference, surroundings.env) : inputs.get(reference.id);
      if (value === undefined) throw fault(missing(reference));
      return value;
    });
  const written = mapTexts(server.written, (text, field) => {
    const fault = (message: string) => invalid(server, field, message);
    const ready = filled(text, fault);
    const problem = problemOf(ready, field);
    if (problem !== undefined) throw fault(problem);
    if (field[0] === 'sandbox') return placeInSandbox(ready, surroundings.workspaceFolder, fault);
    return field[0] === 'cwd' && !isAbsolute(ready) ? resolve(surroundings.workspaceFolder, ready) : ready;
  });
  const launch = server.source.scope === 'project' ? atRoot(written, surroundings) : written;
  if (server.oauth === undefined) return { ...server, ...launch };
  // Its settings may be from another file than the server.
  const about = (key: string) => (message: string) =>
    new ParleyError('config-invalid', `Server ${quoted(server.name)} (oauth.${key}): ${message}`, {
      details: { server: server.name },
    });
  return { ...server, ...launch, oauth: mapOAuthTexts(server.oauth, (text, key) => filled(text, about(key))) };
}

/**
 * A project's program starts at the project's root, wherever in it Parley stands: what it names there is what was looked at when somebody
 * trusted it. One that is confined and names no folder finds none of the project's.
 */
function atRoot(launch: Launch, { workspaceFolder }: Surroundings): Launch {
  if (launch.kind === 'http' || launch.cwd !== undefined) return launch;
  const isApart = launch.sandbox !== undefined || launch.privateCwd === true;
  return isApart ? { ...launch, privateCwd: true } : { ...launch, cwd: workspaceFolder };
}

/** The full path. What a project holds must not lead out of it by way of a link. */
function placeInSandbox(path: string, root: string, fault: (message: string) => ParleyError): string {
  const full = resolve(root, path);
  const outside = (inner: string, outer: string) => relative(outer, inner).split(sep)[0] === '..';
  if (!outside(full, root) && existsSync(full) && outside(realpathSync(full), realpathSync(root))) {
    throw fault(`${quoted(path)} is a link to a place outside of the project. Name that place itself, if you mean it.`);
  }
  return full;
}

/** What to say of each variable that the launch needs and the environment does not have. Looks at names only. */
export function missingVariables(
  launch: Launch,
  env: Surroundings['env'],
): { readonly field: Field; readonly message: string }[] {
  const found: { field: Field; message: string }[] = [];
  eachReference(launch, (reference, field) => {
    if (reference.kind === 'variable' && variable(reference, env) === undefined)
      found.push({ field, message: missing(reference) });
  });
  return found;
}

function eachReference(launch: Launch, look: (reference: Reference, field: Field) => void): void {
  eachText(launch, (text, field) => references(text).forEach((reference) => look(reference, field)));
}

/** The inputs that the server needs and somebody has a value for. */
async function answers(
  { written, oauth = {} }: ServerDefinition,
  { inputs, signal }: Surroundings,
): Promise<ReadonlyMap<string, string>> {
  const wanted = new Set<string>();
  const want = (reference: Reference) => reference.kind === 'input' && wanted.add(reference.id);
  eachReference(written, want);
  mapOAuthTexts(oauth, (text) => (references(text).forEach(want), text));
  const known = new Map<string, string>();
  for (const id of wanted) {
    const value = typeof inputs === 'function' ? await inputs(id, { ...(signal && { signal }) }) : inputs?.get(id);
    signal?.throwIfAborted();
    if (value !== undefined) known.set(id, value);
  }
  return known;
}

function missing(reference: Exclude<Reference, { kind: 'place' }>): string {
  if (reference.kind === 'input') return `nobody gave a value for the input "${reference.id}".`;
  return `the variable "${reference.name}" is not set. Set it, or write a default: "\${${reference.name}:-…}".`;
}

function invalid(server: ServerDefinition, field: Field, message: string): ParleyError {
  const { file, key } = server.source;
  return new ParleyError('config-invalid', `Server ${quoted(server.name)} (${key}.${field.join('.')} in ${file}): ${message}`, {
    details: { server: server.name },
  });
}

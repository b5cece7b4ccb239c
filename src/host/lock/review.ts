// Whether a definition is the one that was reviewed, by the project's lock. What is not may be looked at by a person, and by nobody else.
import { canonical } from '../../base/index.ts';
import { isObject, type JsonObject } from '../../jsonrpc/index.ts';
import { describeServer, type ServerDefinition } from '../config/index.ts';
import type { PromptEntry, Snapshot, ToolEntry } from '../registry/index.ts';
import { changeLines } from './changes.ts';
import { compareDefinitions, type Reviewable } from './compare.ts';
import { lockDefinition, type Lock, type LockedDefinition, type LockedServer } from './lock-file.ts';

/** What a server offers, as it says it now. */
export interface Offer {
  readonly instructions?: string;
  readonly tools: readonly JsonObject[];
  readonly prompts: readonly JsonObject[];
  /** The names of all tools there are, of every server: words that begin to speak of one want a look. */
  readonly known: readonly string[];
}

/** One thing that is not as it was reviewed. `notice`: only words changed. `blocked`: not to be used before it was reviewed again. */
export interface Drift {
  readonly level: 'notice' | 'blocked';
  readonly kind: Reviewable | 'launch';
  /** The tool's or prompt's name; '' for the rest. Untrusted. */
  readonly name: string;
  /** For people; what is a server's in it is made visible. */
  readonly reasons: readonly string[];
  /** What was and what is, line by line. */
  readonly changes: readonly string[];
}

/** What a lock keeps of a server's launch: how it is reached, without a value of a variable, header or query. */
function launchOf(server: ServerDefinition): JsonObject {
  const { name: _name, source: _source, enabled: _enabled, ...launch } = describeServer(server);
  return JSON.parse(canonical(launch)) as JsonObject;
}

/** The entry of a server for the lock: all that it offers, as reviewed. */
export function lockServer(server: ServerDefinition, { instructions, tools, prompts }: Omit<Offer, 'known'>): LockedServer {
  const each = (definitions: readonly JsonObject[]) =>
    new Map(definitions.map((definition) => [nameOf(definition), lockDefinition(definition)]));
  return {
    launch: launchOf(server),
    ...(instructions !== undefined && { instructions: lockDefinition(instructions) }),
    tools: each(tools),
    prompts: each(prompts),
  };
}

/** All that is not as it was reviewed; what is gone is no drift, for nothing can be done with it. */
export function driftOf(locked: LockedServer, server: ServerDefinition, offer: Offer): readonly Drift[] {
  const { instructions, known } = offer;
  return [
    ...launchDrift(locked, server),
    ...(instructions === undefined ? [] : review('instructions', '', locked.instructions, instructions, known)),
    ...offer.tools.flatMap((tool) => review('tool', nameOf(tool), locked.tools.get(nameOf(tool)), tool, known)),
    ...offer.prompts.flatMap((prompt) => review('prompt', nameOf(prompt), locked.prompts.get(nameOf(prompt)), prompt, known)),
  ];
}

/** The drift of one definition: none, or one. */
function review(
  kind: Reviewable,
  name: string,
  locked: LockedDefinition | undefined,
  definition: JsonObject | string,
  others: readonly string[],
): readonly Drift[] {
  const changes = () => changeLines(locked?.definition, definition);
  if (locked === undefined) return [drift(kind, name, ['it was never reviewed'], changes())];
  const { type, reasons } = compareDefinitions(locked.definition, definition, {
    others: others.filter((other) => other !== name),
  });
  return type === 'same' ? [] : [drift(kind, name, reasons, changes(), type === 'text' ? 'notice' : 'blocked')];
}

function drift(
  kind: Drift['kind'],
  name: string,
  reasons: readonly string[],
  changes: readonly string[],
  level: Drift['level'] = 'blocked',
): Drift {
  return { level, kind, name, reasons, changes };
}

/** What has no definition that could be reviewed: it needs no more than a server that is reached as it was. */
interface Unreviewable {
  readonly kind: 'resource';
  readonly server: string;
}

/** What stands between a reviewed server and one that turned: asked before every use. */
export type LockCheck = (entry: ToolEntry | PromptEntry | Unreviewable) => Drift | undefined;

/** True for a server that a lock is for: one that the project defines and that was reviewed. */
export function isLocked(lock: Lock | undefined, { name, source }: ServerDefinition): boolean {
  return source.scope === 'project' && lock?.has(name) === true;
}

/**
 * Says why something may not be used, by the lock; undefined when it may, also where there is no lock for its server. Servers are those
 * of the configuration, the entries those of the registry.
 */
export function createLockCheck(
  lock: Lock | undefined,
  servers: readonly ServerDefinition[],
  offered: () => Pick<Snapshot, 'tools'>,
): LockCheck {
  const held = new Map(
    servers.flatMap((server) => {
      const locked = isLocked(lock, server) ? lock?.get(server.name) : undefined;
      return locked === undefined ? [] : [[server.name, { locked, launch: launchDrift(locked, server)[0] }] as const];
    }),
  );
  return (used) => {
    const known = held.get(used.server);
    if (known === undefined || known.launch !== undefined) return known?.launch;
    if (used.kind === 'resource') return undefined;
    const { kind, key, digest, definition } = used;
    const entry = (kind === 'tool' ? known.locked.tools : known.locked.prompts).get(key);
    if (entry?.digest === digest) return undefined;
    const names = offered().tools.map(({ name }) => name);
    return review(kind, key, entry, definition as unknown as JsonObject, names).find(({ level }) => level === 'blocked');
  };
}

function launchDrift(locked: LockedServer, server: ServerDefinition): readonly Drift[] {
  const launch = launchOf(server);
  if (canonical(launch) === canonical(locked.launch)) return [];
  const reason = Object.keys(locked.launch).length === 0 ? 'it was never reviewed' : 'it is reached in another way';
  return [drift('launch', '', [reason], changeLines(locked.launch, launch))];
}

function nameOf(definition: JsonObject): string {
  return isObject(definition) && typeof definition['name'] === 'string' ? definition['name'] : '';
}

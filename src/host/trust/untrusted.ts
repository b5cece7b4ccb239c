// What a server said, shut in. It can be carried and stored, and there are three ways to open it, each for one kind of reader.
// Nothing else in Parley looks inside.
import type { AnyResult } from './blocks.ts';
import { contentForHuman, type HumanOptions } from './content-human.ts';
import { contentForModel, type ModelOptions, type ModelPart } from './content-text.ts';

/** Where something came from. */
export interface Source {
  /** The configured server's name. */
  readonly server: string;
}

declare const content: unique symbol;

/** A value of type T from a server. At run time it has no member but its source, so it cannot be printed or read by mistake. */
export interface Untrusted<T> {
  readonly source: Source;
  /** For the compiler only. */
  readonly [content]: T;
}

/** Holds it where nothing but this file can see it, and where it is gone with whoever carries it. */
class Shut {
  readonly #value: unknown;
  readonly source: Source;

  constructor(value: unknown, source: Source) {
    this.#value = value;
    this.source = Object.isFrozen(source) ? source : Object.freeze({ server: source.server });
    Object.freeze(this);
  }

  static open(held: Shut): unknown {
    return held.#value;
  }
}

/** The value, shut in. */
export function hold<T>(value: T, source: Source): Untrusted<T> {
  return new Shut(value, source) as unknown as Untrusted<T>;
}

/** The parts a model gets of it. */
export function forModel(held: Untrusted<AnyResult>, options: ModelOptions = {}): Promise<readonly ModelPart[]> {
  return contentForModel(open(held), options);
}

/** It as lines for a terminal, each behind the gutter. */
export function forHuman(held: Untrusted<AnyResult | string>, options: HumanOptions = {}): string {
  return contentForHuman(open(held), options);
}

/** It as it is, to be encoded (as JSON, or for another MCP client) by whoever takes it; never to be shown so. */
export function forWire<T>(held: Untrusted<T>): T {
  return open(held);
}

function open<T>(held: Untrusted<T>): T {
  return Shut.open(held as unknown as Shut) as T;
}

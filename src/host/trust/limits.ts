// What one result may hold before parts of it are left out. Sizes are bytes as they came, so Base64 counts as written.

export interface ResultLimits {
  /** Blocks of content, contents of a resource, or messages of a prompt. */
  readonly blocks: number;
  /** Text that goes to a model, of one result. */
  readonly modelText: number;
  readonly structured: number;
  readonly image: number;
  readonly audio: number;
  /** One resource, embedded or read. */
  readonly resource: number;
  /** Levels of objects and lists in one block or in structured content. */
  readonly depth: number;
  /** Values in the whole result. */
  readonly nodes: number;
}

const KIB = 1_024;
const MIB = 1_024 * KIB;

export const RESULT_LIMITS: ResultLimits = {
  blocks: 256,
  modelText: 100 * KIB,
  structured: 4 * MIB,
  image: 5 * MIB,
  audio: 10 * MIB,
  resource: 4 * MIB,
  depth: 64,
  nodes: 200_000,
};

// What one result may hold before parts of it are left out. Sizes are bytes as they came, so Base64 counts as written.
import { limitOf, type Limits } from '../../base/index.ts';

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

/** What a result may hold where `limits` holds. */
export function resultLimits(limits: Limits = {}): ResultLimits {
  return {
    blocks: limitOf('maxBlocks', limits.maxBlocks),
    modelText: 102_400,
    structured: limitOf('maxStructuredBytes', limits.maxStructuredBytes),
    image: limitOf('maxImageBytes', limits.maxImageBytes),
    audio: limitOf('maxAudioBytes', limits.maxAudioBytes),
    resource: limitOf('maxResourceBytes', limits.maxResourceBytes),
    depth: limitOf('maxJsonDepth', limits.maxJsonDepth),
    nodes: limitOf('maxJsonValues', limits.maxJsonValues),
  };
}

export const RESULT_LIMITS = resultLimits();

export type { AnyResult } from './blocks.ts';
export {
  holdPrompt,
  holdResource,
  holdToolResult,
  type CheckedOutput,
  type Finding,
  type Held,
  type HoldOptions,
  type OutputVerdict,
  type ToolHoldOptions,
} from './check.ts';
export { contentForHuman, type HumanOptions } from './content-human.ts';
export { contentForModel, type ModelOptions, type ModelPart } from './content-text.ts';
export { RESULT_LIMITS, type ResultLimits } from './limits.ts';
export { createSpill, type Spill, type SpillOptions } from './spill.ts';
export { forHuman, forModel, forWire, hold, type Source, type Untrusted } from './untrusted.ts';
export { gutter, GUTTER, hiddenIn, oneLine, stripHidden, visible, type Hidden } from './visible.ts';

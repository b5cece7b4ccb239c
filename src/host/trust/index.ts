export type { AnyResult } from './blocks.ts';
export {
  holdPrompt,
  holdResource,
  holdToolResult,
  sayFindings,
  type CheckedOutput,
  type Finding,
  type Held,
  type HoldOptions,
  type OutputVerdict,
  type ToolHoldOptions,
} from './check.ts';
export { unmasked } from './findings.ts';
export type { HumanOptions } from './content-human.ts';
export type { ModelOptions, ModelPart } from './content-text.ts';
export { resultLimits, type ResultLimits } from './limits.ts';
export { createSpill, type Spill, type SpillOptions } from './spill.ts';
export { createTaint, isKeptFrom, taintFor, type ReadFacts, type Taint, type TaintMark } from './taint.ts';
export { forHuman, forModel, forWire, hold, type Source, type Untrusted } from './untrusted.ts';
export { gutter, GUTTER, hiddenIn, oneLine, stripHidden, visible } from './visible.ts';

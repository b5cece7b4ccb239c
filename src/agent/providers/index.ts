export { openAiCompatible, type OpenAiCompatibleOptions } from './openai-compatible.ts';
export { readScript, type ScriptCall, type ScriptStep } from './script-file.ts';
export { scriptedModel } from './scripted.ts';
export { MODEL_FORMS, parseModelSpec, type ModelSurroundings } from './spec.ts';

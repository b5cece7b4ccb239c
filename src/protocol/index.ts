export { mcpCode } from './code.ts';
export { mcpConventions } from './conventions.ts';
export {
  clientDialect,
  readInitialize,
  readModern,
  serverDialect,
  sessionHabits,
  type Answered,
  type ClientDialect,
  type ClientTerms,
  type Decoded,
  type EncodeOptions,
  type InputAnswers,
  type InputWanted,
  type SessionHabits,
} from './dialect.ts';
export { declares, extension } from './extension.ts';
export {
  initializeParams,
  judge,
  judgeHandshake,
  PREFERRED,
  type Handshake,
  type Probe,
  type ServerFacts,
  type Verdict,
} from './greeting.ts';
export { argumentHeaders, headerName, paramHeaders, type ParamHeader } from './header.ts';
export { checkParamHeaders, headerOf } from './header-check.ts';
export { isExtensionId, metaKey, metaOf } from './meta.ts';
export {
  factsOf,
  inputMethod,
  method,
  METHODS,
  notification,
  type ClientMethod,
  type ClientMethods,
  type InputMethod,
  type MethodFacts,
} from './method.ts';
export {
  freshFor,
  readCallToolResult,
  readCompleteResult,
  readGetPromptResult,
  readPrompts,
  readReadResourceResult,
  readResources,
  readResourceTemplates,
  readTools,
  violation,
  type Page,
  type Rejected,
} from './read.ts';
export {
  isLegacyRevision,
  isModernRevision,
  LEGACY_REVISIONS,
  MODERN_REVISIONS,
  REVISIONS,
  type Era,
  type LegacyRevision,
  type ModernRevision,
  type Revision,
} from './revision.ts';
export * from './schema/index.ts';
export type { ClientFacts, ModernFacts, RequestHeaders, ServerDialect, ServerTerms, SessionFacts } from './server-dialect.ts';
export { readDetailedTask } from './task.ts';
export { parseTemplate, type TemplateValue, type UriTemplate } from './uri-template.ts';
export { checkField, checkForm, type CheckedForm } from './form.ts';

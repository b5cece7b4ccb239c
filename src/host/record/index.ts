export { createEntries, type Allowed, type AllowedBy, type Entries } from './entries.ts';
export { recordedInputs } from './inputs.ts';
export { createRedact, type Redact } from './redact.ts';

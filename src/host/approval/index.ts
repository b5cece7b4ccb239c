export { denyAll, type ApprovalRequest, type ApprovalScope, type Approver, type Verdict } from './approver.ts';
export { createGrants, grantCovers, type Grant, type Grants } from './grants.ts';
export { createIntent, type CallIntent } from './intent.ts';
export { queueApprover, type QueueOptions } from './queue.ts';
export { promptLines } from './prompt-text.ts';

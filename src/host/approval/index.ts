export {
  denyAll,
  type Allowance,
  type AllowedScope,
  type ApprovalRequest,
  type ApprovalScope,
  type Approver,
  type Denier,
  type Refusal,
  type Verdict,
} from './approver.ts';
export { createGrants, grantCovers, grantFor, subjectOf, type Grants, type GrantSubject, type GrantTerms } from './grants.ts';
export { createIntent, writtenTool, type CallCircumstances, type CallIntent, type IntendedCall } from './intent.ts';
export { proposals, type ArgumentPattern, type Matcher, type Proposal } from './pattern.ts';
export { queueApprover, type QueueOptions } from './queue.ts';
export { promptLines } from './prompt-text.ts';
export { answerTicket, parkApprover, requestOf, ticketed, type TicketOptions } from './tickets.ts';
export type { Grant } from '../../store/index.ts';

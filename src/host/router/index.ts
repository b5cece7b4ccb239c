export { sayOutcome, type Outcome, type OutcomeType } from './outcome.ts';
export {
  createRouter,
  type CallRecord,
  type Route,
  type RouteOptions,
  type Router,
  type RouterParts,
  type ToolOutcome,
} from './router.ts';

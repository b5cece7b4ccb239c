export { ROUTES } from './conditions.ts';
export {
  decide,
  matchingRules,
  mayRepeat,
  type CallQuestion,
  type Decision,
  type Question,
  type ReadQuestion,
} from './decide.ts';
export { replay, type Replayed } from './replay.ts';
export { placesOf, type Places } from './places.ts';
export { parseRule, placeOf, readRules, type Effect, type Rule, type RuleSet } from './rules.ts';
export { createOwnFiles, type OwnFiles } from './own-files.ts';

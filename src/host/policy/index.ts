export { decide, type CallQuestion, type Decision, type InputQuestion, type Question } from './decide.ts';
export { parseRule, readRules, type Effect, type Rule, type RuleSet } from './rules.ts';

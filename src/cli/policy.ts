// The policy as commands need it: read from a configuration, and its rules and decisions in words and for JSON.
import {
  placeOf,
  placesOf,
  readRules,
  type Decision,
  type Diagnostic,
  type HostConfig,
  type PolicyRule,
  type RuleSet,
} from '../host/index.ts';
import type { Workspace } from './workspace.ts';

/** The policy that holds here, or that of another configuration. */
export function policyOf({ io, paths, config: own }: Workspace, config: HostConfig = own): RuleSet {
  return readRules(config, placesOf(config.servers, { home: io.home, workspaceFolder: paths.root }));
}

/** True for what may be why a rule does not count. */
export function isAboutRules({ path, level }: Diagnostic): boolean {
  return (
    level !== 'notice' &&
    (path === '' || /^permissions(?:\.|$)/.test(path) || /^servers\..*\.(?:trusted|reviewedTools|private)$/.test(path))
  );
}

/** A decision for `--json`. */
export function decisionAsJson({ verdict, because, rule }: Decision) {
  return { verdict, because, rule: rule === undefined ? null : ruleAsJson(rule) };
}

/** A rule for `--json`. */
export function ruleAsJson({ effect, text: written, source }: PolicyRule) {
  return { effect, rule: written, file: source.file, key: source.key };
}

/** A rule and where it stands. */
export function sayRule({ effect, text: written, source }: PolicyRule): string {
  return `${effect} ${written} (${placeOf(source)})`;
}

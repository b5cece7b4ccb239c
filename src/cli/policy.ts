// The policy as commands need it: read from a configuration, and its rules and decisions in words and for JSON.
import { statSync } from 'node:fs';
import {
  placeOf,
  placesOf,
  readRules,
  type Decision,
  type Diagnostic,
  type HostConfig,
  type PolicyRule,
  type RuleSet,
  type Said,
} from '../host/index.ts';
import type { Workspace } from './workspace.ts';

/** The policy that holds here, or that of another configuration. */
export function policyOf({ io, paths, config: own }: Workspace, config: HostConfig = own): RuleSet {
  return readRules(config, placesOf(config.servers, { home: io.home, workspaceFolder: paths.root }));
}

/** What the user says, read again whenever one of the files is another than before. */
export function liveSaid(workspace: Workspace): () => Said {
  let stamps: string | undefined;
  let said: Said | undefined;
  return () => {
    // From before they are read: what is written meanwhile is read the next time.
    const now = workspace.files.map(stampOf).join();
    if (said !== undefined && now === stamps) return said;
    stamps = now;
    const { config } = workspace.reload();
    return (said = { rules: policyOf(workspace, config), servers: config.servers });
  };
}

/** What is another whenever a file was written, exchanged or removed. */
function stampOf(file: string): string {
  try {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? 'none' : [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(' ');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
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
  return { effect, rule: written, file: source.file, key: source.key, scope: source.scope };
}

/** A rule and where it stands. */
export function sayRule({ effect, text: written, source }: PolicyRule): string {
  return `${effect} ${written} (${placeOf(source)})`;
}

// Permission rules as written: lists of texts under `permissions`. They are parsed elsewhere.
// Anything here that cannot be read is an error and makes the rules incomplete: a rule is never dropped in silence.
import { kindOf, quoted } from './diagnostic.ts';
import type { Document } from './document.ts';
import { isRecord } from './fields.ts';
import type { Rule, Rules } from './shape.ts';

const LISTS = ['allow', 'ask', 'deny', 'repeatable'] as const;
const MAX_LENGTH = 512;
/** Keys at the top of a file that somebody may have meant as `permissions`. */
const MISNAMED = /^(?:permissions?|rules?|polic(?:y|ies)|allow|ask|deny)$/i;

/** True for a top-level key that must not pass as merely unknown, because it would lose rules. */
export function isMisnamedPermissions(key: string): boolean {
  return key !== 'permissions' && MISNAMED.test(key);
}

/** The rules of one file. `allow` and `repeatable` in a project's file are ignored with a warning. */
export function readPermissions(document: Document): Rules {
  const lists: Record<(typeof LISTS)[number], Rule[]> = { allow: [], ask: [], deny: [], repeatable: [] };
  let complete = true;
  const lose = (path: (string | number)[], message: string) => {
    complete = false;
    document.report('error', path, `${message} Until this is corrected, nothing is allowed to run.`);
  };
  const block = isRecord(document.value) ? document.value['permissions'] : undefined;
  if (block === undefined) return { ...lists, unread: [] };
  if (!isRecord(block))
    lose(['permissions'], `"permissions" must be an object with "allow", "ask" and "deny", not ${kindOf(block)}.`);
  if (document.spoiled(['permissions'])) complete = false;
  for (const [key, value] of isRecord(block) ? Object.entries(block) : []) {
    const list = LISTS.find((name) => name === key);
    if (list === undefined) {
      lose(['permissions', key], `${quoted(key)} is not a list of rules; there are "allow", "ask", "deny" and "repeatable".`);
    } else if (!Array.isArray(value)) {
      lose(['permissions', key], `"permissions.${key}" must be a list of rules, not ${kindOf(value)}.`);
    } else if ((list === 'allow' || list === 'repeatable') && document.scope === 'project') {
      if (value.length === 0) continue;
      document.report(
        'warning',
        ['permissions', key],
        `The "${list}" rules are ignored: a project cannot ${list === 'allow' ? 'allow' : 'repeat'} its own calls. Put them into your own settings.`,
      );
    } else {
      value.forEach((rule: unknown, at) => {
        if (!isRule(rule))
          return lose(['permissions', key, at], `A rule must be a text of 1 to ${MAX_LENGTH} printable characters.`);
        lists[list].push({ rule, source: { file: document.file, key: `permissions.${key}.${at}`, scope: document.scope } });
      });
    }
  }
  return { ...lists, unread: complete ? [] : [document.file] };
}

function isRule(rule: unknown): rule is string {
  return typeof rule === 'string' && rule.trim() !== '' && rule.length <= MAX_LENGTH && !/[\p{C}\p{Zl}\p{Zp}]/u.test(rule);
}

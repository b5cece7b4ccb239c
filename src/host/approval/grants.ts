// What somebody allowed beyond one call. A grant is kept in the store and counts only for the server, definition, policy, principal
// and arguments it was given for.
import { randomUUID } from 'node:crypto';
import { digest } from '../../base/index.ts';
import type { Approval, Grant, Store } from '../../store/index.ts';
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { CallIntent } from './intent.ts';
import { matchesPattern, readPattern, type ArgumentPattern } from './pattern.ts';

/** A month: what is allowed until a date is looked at again by then. */
const LONGEST_MS = 30 * 24 * 3_600_000;

/** True when the grant was given for this call, as far as anything but its time and uses goes. */
export function grantCovers(grant: Grant, intent: CallIntent): boolean {
  if (grant.server !== intent.serverDigest || grant.serverName !== intent.server || grant.tool !== intent.tool) return false;
  if (grant.principal !== intent.principal || (grant.run !== undefined && grant.run !== intent.run)) return false;
  if (grant.definitionDigest !== intent.definitionDigest || grant.policyVersion !== intent.policyVersion) return false;
  if (grant.pattern === undefined) return true;
  const pattern = readPattern(grant.pattern);
  return pattern !== undefined && matchesPattern(pattern, intent.args);
}

/** For how long, and for what. `run`: the tool with any arguments, in this run. */
export type GrantTerms =
  | { readonly type: 'run' }
  | { readonly type: 'until'; readonly at: number; readonly pattern: ArgumentPattern }
  | { readonly type: 'always'; readonly pattern: ArgumentPattern };

/** Whose call a grant is made from. */
export type GrantSubject = Pick<
  Approval,
  'principal' | 'run' | 'serverName' | 'server' | 'tool' | 'definitionDigest' | 'policyVersion'
>;

/** What a grant for a call is about. */
export function subjectOf(intent: CallIntent): GrantSubject {
  const { principal, run, server, serverDigest, tool, definitionDigest, policyVersion } = intent;
  return { principal, run, serverName: server, server: serverDigest, tool, definitionDigest, policyVersion };
}

/** The grant on these terms. A date later than in 30 days is cut to that. */
export function grantFor(
  subject: GrantSubject,
  terms: GrantTerms,
  given: { readonly by: string; readonly channel: string; readonly at: number },
): Grant {
  const { principal, run, serverName, server, tool, definitionDigest, policyVersion } = subject;
  const { at } = given;
  const bound =
    terms.type === 'run'
      ? { run, expiresAt: at + LONGEST_MS }
      : {
          pattern: terms.pattern as unknown as JsonObject,
          ...(terms.type === 'until' && { expiresAt: Math.min(terms.at, at + LONGEST_MS) }),
        };
  return {
    id: `gr_${randomUUID()}`,
    principal,
    serverName,
    server,
    tool,
    definitionDigest,
    policyVersion,
    ...bound,
    ...given,
  };
}

export interface Grants {
  /** Those in force that cover this call, oldest first; those of a definition that has changed are ended. */
  covering(intent: CallIntent): Promise<readonly Grant[]>;
  /**
   * Takes a use for this call, where they are counted; false when the grant is in force no longer. A ticket that the grant was given with
   * for the same call is used up by it: else that call could be made once more when the grant is over.
   */
  use(grant: Grant, intent: CallIntent): Promise<boolean>;
  /** Ends those of a tool whose definition changed or went away. Nothing is looked for before that is done. */
  revoke(serverName: string, tool: string): void;
}

/** The grants of a store that is opened when it is first needed. */
export function createGrants(store: () => Store | Promise<Store>): Grants {
  const gone: { readonly serverName: string; readonly tool: string }[] = [];
  const why = 'The definition of the tool has changed.';
  /** Tickets that allow nothing any more. */
  const usedUp = new Set<string>();
  let ending: Promise<void> | undefined;

  async function endThose({ grants }: Store): Promise<void> {
    for (let first = gone[0]; first !== undefined; first = gone[0]) {
      await grants.revoke(first, { why });
      gone.shift();
    }
  }

  return {
    async covering(intent) {
      const opened = await store();
      await (ending ??= endThose(opened).finally(() => (ending = undefined)));
      const { grants } = opened;
      const { principal, serverDigest: server, tool } = intent;
      const found = await grants.active({ principal, server, tool });
      if (found.some((grant) => grant.definitionDigest !== intent.definitionDigest)) {
        await grants.revoke({ principal, server, tool }, { why, keep: intent.definitionDigest });
      }
      return found.filter((grant) => grantCovers(grant, intent));
    },
    async use({ id, usesLeft, approval }, intent) {
      const { grants, approvals } = await store();
      const inForce = usesLeft === undefined ? (await grants.active({ id })).length > 0 : await grants.use(id);
      if (inForce && approval !== undefined && !usedUp.has(approval.id) && approval.argsDigest === digest(intent.args)) {
        if (await approvals.claim(approval.id)) await approvals.finish(approval.id, { state: 'failed', outcome: 'granted' });
        usedUp.add(approval.id);
      }
      return inForce;
    },
    revoke(serverName, tool) {
      gone.push({ serverName, tool });
    },
  };
}

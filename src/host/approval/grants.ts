// What a person allowed for the rest of this run. Kept in memory only; a grant dies with the definition it was given for.
import type { CallIntent } from './intent.ts';

/** One tool of one server, with any arguments, as long as its definition is the one that was approved. */
export interface Grant {
  readonly server: string;
  readonly tool: string;
  readonly definitionDigest: string;
}

/** True when the grant was given for the tool of this call, and for the definition it has now. */
export function grantCovers(grant: Grant, intent: CallIntent): boolean {
  return grant.server === intent.server && grant.tool === intent.tool && grant.definitionDigest === intent.definitionDigest;
}

export interface Grants {
  /** Those in force, oldest first. */
  readonly list: readonly Grant[];
  add(intent: CallIntent): void;
  covers(intent: CallIntent): boolean;
  /**
   * Ends the grants of a tool, or of all tools of a server. To be called when a definition changes or goes away, so that
   * nothing is inherited when it comes back, and when the server itself is another.
   */
  revoke(server: string, tool?: string): void;
}

/** An empty memory of grants. */
export function createGrants(): Grants {
  let list: readonly Grant[] = [];
  const covers = (intent: CallIntent) => list.some((grant) => grantCovers(grant, intent));
  return {
    get list() {
      return list;
    },
    add(intent) {
      const { server, tool, definitionDigest } = intent;
      if (!covers(intent)) list = [...list, { server, tool, definitionDigest }];
    },
    covers,
    revoke(server, tool) {
      list = list.filter((grant) => grant.server !== server || (tool !== undefined && grant.tool !== tool));
    },
  };
}

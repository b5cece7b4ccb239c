// What differs between the revisions of the legacy era. Only `legacy/` reads this table.
import type { LegacyRevision } from '../revision.ts';

interface Facts {
  /** Later requests over HTTP carry MCP-Protocol-Version. */
  readonly versionHeader: boolean;
  /** JSON-RPC batches are allowed. */
  readonly batches: boolean;
  /** Error -32042 asks for URLs to be visited. */
  readonly urlElicitationError: boolean;
}

export const FACTS: Readonly<Record<LegacyRevision, Facts>> = {
  '2024-11-05': { versionHeader: false, batches: false, urlElicitationError: false },
  '2025-03-26': { versionHeader: false, batches: true, urlElicitationError: false },
  '2025-06-18': { versionHeader: true, batches: false, urlElicitationError: false },
  '2025-11-25': { versionHeader: true, batches: false, urlElicitationError: true },
};

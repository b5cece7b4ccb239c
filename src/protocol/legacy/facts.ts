// What differs between the revisions of the legacy era. Only `legacy/` reads this table.
import type { LegacyRevision } from '../revision.ts';

interface Facts {
  /** Later requests over HTTP carry MCP-Protocol-Version. */
  readonly versionHeader: boolean;
  /** JSON-RPC batches are allowed. */
  readonly batches: boolean;
  /** Error -32042 asks for URLs to be visited. */
  readonly urlElicitationError: boolean;
  /** A stream over HTTP may begin with an event that has an id and no data. */
  readonly primedStreams: boolean;
  /** Tools have annotations, progress has a message, and completion is a capability. */
  readonly hints: boolean;
  /** Things have a `title`, tools an `outputSchema` and results `structuredContent`. */
  readonly titles: boolean;
  /** Things have icons, and an implementation a description and a website. */
  readonly icons: boolean;
  /** The kinds of content block there are. */
  readonly blocks: readonly string[];
  /** The kinds of elicitation there are. */
  readonly elicitation: 'none' | 'form' | 'form and url';
  /** Sampling messages may hold several blocks, and uses of tools. */
  readonly samplingTools: boolean;
}

const first: Facts = {
  versionHeader: false,
  batches: false,
  urlElicitationError: false,
  primedStreams: false,
  hints: false,
  titles: false,
  icons: false,
  blocks: ['text', 'image', 'resource'],
  elicitation: 'none',
  samplingTools: false,
};
const second: Facts = { ...first, batches: true, hints: true, blocks: [...first.blocks, 'audio'] };
const third: Facts = {
  ...second,
  batches: false,
  versionHeader: true,
  titles: true,
  blocks: [...second.blocks, 'resource_link'],
  elicitation: 'form',
};
const fourth: Facts = {
  ...third,
  urlElicitationError: true,
  primedStreams: true,
  icons: true,
  elicitation: 'form and url',
  samplingTools: true,
};

export const FACTS: Readonly<Record<LegacyRevision, Facts>> = {
  '2024-11-05': first,
  '2025-03-26': second,
  '2025-06-18': third,
  '2025-11-25': fourth,
};

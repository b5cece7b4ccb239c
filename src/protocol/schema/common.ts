// Shapes that several features share (2026-07-28, "General fields").
import type { JsonObject } from '../../jsonrpc/index.ts';

/** Metadata either side may attach; unknown keys are kept. */
export type Meta = JsonObject;

export interface Icon {
  readonly src: string;
  readonly mimeType?: string;
  readonly sizes?: readonly string[];
  readonly theme?: 'light' | 'dark';
}

/** Name and version of a program, as it reports itself: for display only, never for a decision. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly description?: string;
  readonly websiteUrl?: string;
  readonly icons?: readonly Icon[];
}

export type Role = 'user' | 'assistant';

export interface Annotations {
  readonly audience?: readonly Role[];
  /** 0 (least) to 1 (most important). */
  readonly priority?: number;
  /** ISO 8601. */
  readonly lastModified?: string;
}

/** How long a result is fresh, and for whom. Absent from servers before 2026-07-28. */
export interface Caching {
  readonly ttlMs?: number;
  readonly cacheScope?: 'public' | 'private';
}

export type LoggingLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency';

/** Least to most severe (RFC 5424). */
export const LOGGING_LEVELS: readonly LoggingLevel[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
];

export function isLoggingLevel(value: unknown): value is LoggingLevel {
  return (LOGGING_LEVELS as readonly unknown[]).includes(value);
}

// The protocol revisions Parley speaks, newest first, and which era each belongs to.

export const MODERN_REVISIONS = ['2026-07-28'] as const;
export const LEGACY_REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

export type ModernRevision = (typeof MODERN_REVISIONS)[number];
export type LegacyRevision = (typeof LEGACY_REVISIONS)[number];
export type Revision = ModernRevision | LegacyRevision;

/** `modern`: each request carries version and capabilities. `legacy`: an `initialize` handshake opens a session. */
export type Era = 'modern' | 'legacy';

/** Every revision spoken, newest first. */
export const REVISIONS: readonly Revision[] = [...MODERN_REVISIONS, ...LEGACY_REVISIONS];

export function isModernRevision(value: unknown): value is ModernRevision {
  return (MODERN_REVISIONS as readonly unknown[]).includes(value);
}

export function isLegacyRevision(value: unknown): value is LegacyRevision {
  return (LEGACY_REVISIONS as readonly unknown[]).includes(value);
}

/** The newest of `ours` that `theirs` has too, or undefined when nothing is common. */
export function bestCommon<R extends Revision>(ours: readonly R[], theirs: readonly unknown[]): R | undefined {
  return ours.find((revision) => theirs.includes(revision));
}

// "Did you mean": the known names nearest to one that is not known.

/** Up to three of `known`, nearest first: within a third of the length of `name` in edits, or the one a part of the other. */
export function closest(name: string, known: Iterable<string>): string[] {
  const wanted = name.toLowerCase();
  const allowed = Math.max(1, Math.floor(wanted.length / 3));
  const near: { candidate: string; edits: number }[] = [];
  for (const candidate of known) {
    const lower = candidate.toLowerCase();
    const edits = lower.includes(wanted) || wanted.includes(lower) ? 1 : distance(wanted, lower, allowed);
    if (edits <= allowed) near.push({ candidate, edits });
  }
  near.sort((a, b) => a.edits - b.edits || (a.candidate < b.candidate ? -1 : 1));
  return near.slice(0, 3).map((entry) => entry.candidate);
}

/** A clause for an error message, or '' when nothing comes close. */
export function didYouMean(name: string, known: Iterable<string>): string {
  return suggestion(closest(name, known));
}

/** The same clause for names that were found already. */
export function suggestion(names: readonly string[]): string {
  return names.length === 0 ? '' : ` Did you mean ${names.map((near) => `"${near}"`).join(' or ')}?`;
}

/** Edits from `a` to `b`, two neighbours swapped counting as one, or more than `limit` as soon as it is known to be. */
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let before: readonly number[] = [];
  let previous: readonly number[] = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const substitution = (previous[column - 1] as number) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const swap = swapped ? (before[column - 2] ?? Infinity) + 1 : Infinity;
      current.push(Math.min(substitution, swap, (previous[column] as number) + 1, (current[column - 1] as number) + 1));
    }
    if (Math.min(...current) > limit) return limit + 1;
    before = previous;
    previous = current;
  }
  return previous[b.length] as number;
}

/** Something that expires if nothing happens to it. Its name changes when something happens. */
export type Candidate<Fact> = { readonly name: string; readonly fact: Fact };

/** When each candidate was first seen, ms on the observer's monotonic clock. */
export type Sightings = ReadonlyMap<string, number>;

export const noSightings: Sightings = new Map();

/**
 * Finds the candidates that were seen for a whole span. The span starts when the observer first sees the
 * candidate, so neither an outage nor a jump of the wall clock expires anything; a restart of the observer
 * restarts the span. The span of a due candidate also restarts, in case its event is not appended.
 */
export function updateSightings<Fact>(
  before: Sightings,
  candidates: readonly Candidate<Fact>[],
  now: number,
  spanMs: number,
): { readonly sightings: Sightings; readonly due: readonly Fact[] } {
  const sightings = new Map<string, number>();
  const due: Fact[] = [];
  for (const { name, fact } of candidates) {
    const since = before.get(name) ?? now;
    const isDue = now - since >= spanMs;
    sightings.set(name, isDue ? now : since);
    if (isDue) due.push(fact);
  }
  return { sightings, due };
}

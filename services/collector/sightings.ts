/** Something that ends if nothing happens to it. Its name changes when something happens. */
export type Candidate<Fact> = { readonly name: string; readonly fact: Fact };

/** When each candidate was first seen: ms on the observer's own monotonic clock. */
export type Sightings = ReadonlyMap<string, number>;

export const noSightings: Sightings = new Map();

/**
 * Which candidates were seen for a whole span. The span is measured from when the observer first saw the
 * candidate, so neither an outage nor a jump of the wall clock ends anything; a restart of the observer
 * begins the span again. One that is due is sighted anew, in case what was said about it does not arrive.
 */
export function lookAgain<Fact>(
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

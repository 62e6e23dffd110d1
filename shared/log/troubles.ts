/** Why a group makes no progress in this process. `place`: a partition, or a step of the start. */
export type Troubles = {
  /** Records a failure. */
  readonly failed: (group: string, place: string, error: unknown) => void;
  /** Records a refusal, which no further try changes: it is reported at once. */
  readonly refused: (group: string, place: string, error: unknown) => void;
  /** Clears the failures of a place. */
  readonly worked: (group: string, place: string) => void;
  readonly of: (group: string) => readonly string[];
};

/** ms of failures before they are reported: a partition that moves between members fails once or twice */
const troubleAfterMs = 5_000;

export function createTroubles(now: () => number = () => performance.now()): Troubles {
  const failing = new Map<string, Map<string, { readonly since: number; readonly reason: string }>>();
  const placesOf = (group: string) => {
    const places = failing.get(group) ?? new Map();
    failing.set(group, places);
    return places;
  };
  return {
    failed: (group, place, error) => {
      const places = placesOf(group);
      places.set(place, { since: places.get(place)?.since ?? now(), reason: reasonOf(error) });
    },
    refused: (group, place, error) =>
      void placesOf(group).set(place, { since: Number.NEGATIVE_INFINITY, reason: reasonOf(error) }),
    worked: (group, place) => void failing.get(group)?.delete(place),
    of: (group) =>
      [...(failing.get(group) ?? [])]
        .filter(([, { since }]) => now() - since >= troubleAfterMs)
        .map(([place, { reason }]) => `${place}: ${reason}`),
  };
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

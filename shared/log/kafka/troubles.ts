/**
 * What keeps a group's members in this process from their work, by place: a partition, or the group's
 * name.
 */
export type Troubles = {
  /** It failed once more. */
  readonly failed: (group: string, place: string, error: unknown) => void;
  /** It works. */
  readonly worked: (group: string, place: string) => void;
  readonly of: (group: string) => readonly string[];
};

/** ms of failing after which it is one: a partition that moves fails once or twice on its way */
const troubleAfterMs = 5_000;

export function createTroubles(now: () => number = () => performance.now()): Troubles {
  const failing = new Map<string, Map<string, { readonly since: number; readonly reason: string }>>();
  return {
    failed: (group, place, error) => {
      const of = failing.get(group) ?? new Map();
      failing.set(group, of);
      const reason = error instanceof Error ? error.message : String(error);
      of.set(place, { since: of.get(place)?.since ?? now(), reason });
    },
    worked: (group, place) => void failing.get(group)?.delete(place),
    of: (group) =>
      [...(failing.get(group) ?? [])]
        .filter(([, { since }]) => now() - since >= troubleAfterMs)
        .map(([place, { reason }]) => `${place}: ${reason}`),
  };
}

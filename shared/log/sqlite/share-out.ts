export type MemberRow = { readonly member: string };
export type ShareRow = {
  readonly partition: number;
  readonly owner: string | null;
  readonly generation: number;
};

/**
 * The partitions that a member should own, given all members in order of joining. Partitions are assigned in turn, so
 * that shares differ by at most one. The first member differs between groups, so that the extra partition does not
 * always go to the oldest process.
 */
export function targetOf(
  me: string,
  subscription: number,
  members: readonly MemberRow[],
  partitions: number,
): ReadonlySet<number> {
  const mine = members.findIndex(({ member }) => member === me);
  const target = new Set<number>();
  if (mine < 0) return target;
  for (let partition = 0; partition < partitions; partition += 1) {
    if ((partition + subscription) % members.length === mine) target.add(partition);
  }
  return target;
}

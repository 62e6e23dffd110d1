export type MemberRow = { readonly member: string };
export type ShareRow = {
  readonly partition: number;
  readonly owner: string | null;
  readonly generation: number;
};

/**
 * The partitions that are a member's by right, given all members in order of joining: dealt out in turn, so
 * that shares differ by one at most. The start differs from group to group, so that the odd partition does
 * not always fall to the oldest process.
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

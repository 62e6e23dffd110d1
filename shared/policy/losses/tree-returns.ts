/**
 * Returns of rewards along a forest (Sutton and Barto 2018, section 3.3, of a tree in place of a chain):
 * R(i) = r(i) + discount * mean of R over the children of i. A leaf's return is its own reward. Where a path
 * parts, each branch has its own and the node above their mean, so that no branch learns what another
 * brought.
 *
 * @param parents index of the parent of each node, null: a root; no cycles, in any order, [N]
 * @param rewards 0 where none was given, [N]
 * @param discount 0 to 1
 * @returns [N]
 * @throws RangeError where parents make a cycle
 */
export function treeReturns(
  parents: readonly (number | null)[],
  rewards: readonly number[],
  discount: number,
): readonly number[] {
  const children = parents.map(() => 0);
  for (const parent of parents) if (parent !== null) children[parent]! += 1;
  const open = [...children]; // children whose return is not known yet
  const sums = parents.map(() => 0);
  const returns = rewards.map(() => Number.NaN);
  const ready = [...open.keys()].filter((node) => open[node] === 0);
  let known = 0;
  for (let node = ready.pop(); node !== undefined; node = ready.pop()) {
    known += 1;
    const later = children[node] === 0 ? 0 : sums[node]! / children[node]!;
    returns[node] = rewards[node]! + discount * later;
    const parent = parents[node]!;
    if (parent === null) continue;
    sums[parent]! += returns[node]!;
    open[parent]! -= 1;
    if (open[parent] === 0) ready.push(parent);
  }
  if (known < parents.length) throw new RangeError('the parents make a cycle');
  return returns;
}

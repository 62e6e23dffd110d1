/**
 * Returns of rewards along a forest (Sutton and Barto 2018, section 3.3, for trees instead of chains):
 * R(i) = r(i) + discount * mean of R over the children of i. The return of a leaf is its reward. Each branch has
 * its own return, and the node above gets their mean, so that no branch is credited for another.
 *
 * @param parents index of each node's parent, in any order; null: a root [N]
 * @param rewards 0 for a node without a reward, [N]
 * @param discount 0 to 1
 * @returns [N]
 * @throws RangeError if the parents form a cycle
 */
export function treeReturns(
  parents: readonly (number | null)[],
  rewards: readonly number[],
  discount: number,
): readonly number[] {
  const children = parents.map(() => 0);
  for (const parent of parents) if (parent !== null) children[parent]! += 1;
  const open = [...children]; // number of children without a return yet
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
  if (known < parents.length) throw new RangeError('the parents form a cycle');
  return returns;
}

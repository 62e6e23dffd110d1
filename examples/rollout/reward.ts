import type { RewardFunction } from '../../clients/rollout/contract.ts';

/** words of an answer that earns 0; none at all would earn 1 */
const LONG = 60;

/** The shorter the better, from -1 to 1; a list costs half a point. */
export const reward: RewardFunction<unknown, string> = ({ result }) => {
  const words = result.split(/\s+/).filter((word) => word !== '').length;
  const isList = /^\s*(?:[-*]|\d+\.) /m.test(result);
  return Math.max(-1, 1 - words / LONG - (isList ? 0.5 : 0));
};

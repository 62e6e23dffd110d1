import type { RewardFunction } from '../../../clients/rollout/contract.ts';

/** Below 100 characters the shorter the better; 100 and more are 0 and less. */
export const reward: RewardFunction<unknown, string> = ({ result }) => Math.max(-1, 1 - result.length / 100);

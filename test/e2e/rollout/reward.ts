import type { RewardFunction } from '../../../clients/rollout/contract.ts';

/** Shorter answers earn more; 100 characters earn 0, longer answers less. */
export const reward: RewardFunction<unknown, string> = ({ result }) => Math.max(-1, 1 - result.length / 100);

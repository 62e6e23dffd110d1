import type { RewardFunction } from '../../../../clients/rollout/contract.ts';

/** 1 for a program that leaves the right answer. */
export const reward: RewardFunction<unknown, { readonly stdout: string }> = ({ result }) =>
  result.stdout.trim().endsWith('42') ? 1 : -1;

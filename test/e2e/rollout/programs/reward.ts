import type { RewardFunction } from '../../../../clients/rollout/contract.ts';

/** 1 for a program that prints the policy's answer. */
export const reward: RewardFunction<unknown, { readonly stdout: string }> = ({ result }) =>
  result.stdout === 'hi\n' ? 1 : -1;

import type { RewardFunction } from '../../clients/rollout/contract.ts';

type Task = { readonly answer: string };
type Result = { readonly answer: string };

/** 1 if the last answer states the right number and no other; otherwise -1. */
export const reward: RewardFunction<Task, Result> = ({ task, result }) => {
  const stated = result.answer.match(/\d+/g) ?? [];
  return stated.length === 1 && stated[0] === task.answer ? 1 : -1;
};

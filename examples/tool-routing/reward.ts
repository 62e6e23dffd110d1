import type { McpAction } from '../../clients/environments/mcp/driver.ts';
import type { RewardFunction } from '../../clients/rollout/contract.ts';

type Task = { readonly tool: string };

/** 1 if the agent called the right tool, and the tool had an answer; otherwise -1. */
export const reward: RewardFunction<Task> = ({ task, evaluation }) => {
  const actions = evaluation?.detail.actions as readonly McpAction[];
  return actions.some(({ tool, isError }) => tool === task.tool && !isError) ? 1 : -1;
};

import type { McpAction } from '../../../clients/environments/mcp/driver.ts';
import type { RewardFunction } from '../../../clients/rollout/contract.ts';

/** 1 if the sum of the task was calculated with the right arguments, otherwise 0. */
export const reward: RewardFunction<{ readonly a: number; readonly b: number }> = ({ task, evaluation }) => {
  const actions = evaluation?.detail.actions as readonly McpAction[];
  const isRight = ({ tool, arguments: given, content }: McpAction) =>
    tool === 'get-sum' &&
    given.a === task.a &&
    given.b === task.b &&
    content.includes(String(task.a + task.b));
  return actions.some(isRight) ? 1 : 0;
};

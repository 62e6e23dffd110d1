import type { Evaluation, OpenEnvironment } from '../environments/environment.ts';

/**
 * Input of an agent for one attempt.
 * @public
 */
export type AgentInput<Task = unknown> = {
  /** one parsed line of the data */
  readonly task: Task;
  /** address of the endpoint without /v1; works for OpenAI and Anthropic SDKs and for fetch */
  readonly baseUrl: string;
  /** session key of this attempt: all requests with it belong to the attempt */
  readonly apiKey: string;
  /** id of the attempt's session */
  readonly session: string;
  /** aborts on timeout or when the rollout stops */
  readonly signal: AbortSignal;
  /** 0 to n - 1 */
  readonly attempt: number;
  /** derived from --seed, the task and the attempt, for the `seed` field of requests */
  readonly seed: number;
  /** environment of this attempt, closed after it; undefined without --env */
  readonly environment?: OpenEnvironment | undefined;
};

/** Works on a task; its result is passed to the reward function. */
export type Agent<Task = unknown, Result = unknown> = (input: AgentInput<Task>) => Promise<Result> | Result;

/**
 * Input of a reward function for one attempt.
 * @public
 */
export type RewardInput<Task = unknown, Result = unknown> = {
  readonly task: Task;
  /** what the agent returned */
  readonly result: Result;
  /** how the environment rates the attempt; undefined without --env */
  readonly evaluation?: Evaluation | undefined;
  readonly session: string;
  readonly attempt: number;
  readonly signal: AbortSignal;
};

/** Rates an attempt with a number from -1 to 1. */
export type RewardFunction<Task = unknown, Result = unknown> = (
  input: RewardInput<Task, Result>,
) => Promise<number> | number;

/** What an agent module is given for one attempt. */
export type AgentInput<Task = unknown> = {
  /** one line of the data, parsed */
  readonly task: Task;
  /**
   * Address of the endpoint, without /v1: the SDKs of OpenAI and Anthropic and plain fetch take it as it is.
   */
  readonly baseUrl: string;
  /** session key of this attempt: what is said with it belongs to the attempt */
  readonly apiKey: string;
  /** id of the attempt's session */
  readonly session: string;
  /** aborts when the time is up, or the rollout is stopped */
  readonly signal: AbortSignal;
  /** 0 to n - 1 */
  readonly attempt: number;
  /** follows from --seed, the task and the attempt: for `seed` of a request */
  readonly seed: number;
};

/** Works on a task; what it returns goes to the reward. */
export type Agent<Task = unknown, Result = unknown> = (input: AgentInput<Task>) => Promise<Result> | Result;

export type RewardInput<Task = unknown, Result = unknown> = {
  readonly task: Task;
  /** what the agent returned */
  readonly result: Result;
  readonly session: string;
  readonly attempt: number;
  readonly signal: AbortSignal;
};

/** How good an attempt was: a number from -1 to 1. */
export type RewardFunction<Task = unknown, Result = unknown> = (
  input: RewardInput<Task, Result>,
) => Promise<number> | number;

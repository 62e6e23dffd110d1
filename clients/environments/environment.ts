import type { Task } from '../rollout/read-tasks.ts';

/** A message that begins the conversation of an attempt. */
export type OpeningMessage = { readonly role: 'system' | 'user'; readonly content: string };

/** A tool as OpenAI's chat API takes it. */
export type FunctionTool = {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: string;
    /** JSON Schema of the arguments */
    readonly parameters: object;
  };
};

/** A call of a tool, or an answer's text: then the name is `say` and the arguments are `{ text }`. */
export type Action = {
  /** unique within the attempt */
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
};

/** What an environment shows after an action. */
export type Observation = {
  readonly content: string;
  /** the action was refused, or its tool failed: the policy sees the reason and may continue */
  readonly isError: boolean;
  /** the environment accepts no further action */
  readonly isDone: boolean;
  /** equal for equal states of one task, so that attempts can be compared where they met */
  readonly stateKey?: string;
};

/**
 * The result of a shell command.
 * @public
 */
export type ShellResult = {
  /** exit status; undefined: the command timed out */
  readonly code: number | undefined;
  /** standard output and standard error, interleaved as they came */
  readonly output: string;
};

/** How well an attempt did. */
export type Evaluation = {
  /** undefined: the environment does not rate, so --reward does */
  readonly reward: number | undefined;
  /** details of the reward from the environment */
  readonly detail: Readonly<Record<string, unknown>>;
};

/**
 * One environment while one attempt uses it. `act` and `evaluate` throw an EnvironmentFailure when the environment
 * itself fails; a mistake of the policy is an observation.
 */
export type OpenEnvironment = {
  readonly messages: readonly OpeningMessage[];
  readonly tools: readonly FunctionTool[];
  /** the text of each answer is an action named `say` */
  readonly takesText: boolean;
  /** ms that the task gives the agent; a shorter --timeout wins */
  readonly agentLimitMs?: number;
  readonly act: (action: Action, signal: AbortSignal) => Promise<Observation>;
  /** runs a command in the environment, for agents that bring tools of their own; undefined: it has no shell */
  readonly shell?: (command: string, signal: AbortSignal) => Promise<ShellResult>;
  /** words of a command line of this machine; the words after them run in the environment; undefined: none do */
  readonly enter?: readonly string[];
  readonly evaluate: (signal: AbortSignal) => Promise<Evaluation>;
  /** ms that `evaluate` may take, where that is longer than --reward-timeout */
  readonly evaluateLimitMs?: number;
  /** Never throws. */
  readonly close: () => Promise<void>;
};

/** Which tasks of an environment to use. */
export type TaskSelection = {
  readonly split: string | undefined;
  /** first and one past the last index; undefined: all */
  readonly range: { readonly from: number; readonly to: number } | undefined;
};

export type EpisodeOptions = {
  /** unique per try of an attempt */
  readonly id: string;
  /** equal for all attempts at a task, so that they begin in the same state */
  readonly seed: number;
  readonly signal: AbortSignal;
};

/** A kind of environment: lists its tasks, and opens an environment for one attempt. */
export type EnvironmentDriver = {
  /** false: it does not rate attempts, so a reward function must */
  readonly hasRating?: false;
  /** @throws UsageError when the environment has no such tasks */
  readonly tasks: (selection: TaskSelection) => Promise<readonly Task[]>;
  /**
   * Looks at the tasks of --data before the first attempt, and gives them the names that the environment has for them.
   * @throws UsageError for a task that it cannot use, or when it cannot be reached
   */
  readonly prepare?: (tasks: readonly Task[]) => Promise<readonly Task[]>;
  /**
   * @throws EnvironmentFailure
   * @throws UsageError when no attempt can work in this environment
   */
  readonly open: (task: unknown, options: EpisodeOptions) => Promise<OpenEnvironment>;
  /** Frees what all attempts share, such as a browser. Never throws. */
  readonly close?: () => Promise<void>;
  /** Notes for the user after the rollout, for example about resources that could not be freed. */
  readonly remarks?: () => readonly string[];
};

type FailureRow = {
  readonly about: string;
  /** a retry may succeed */
  readonly isRetried: boolean;
};

/** Every way in which an attempt fails. A failed attempt is not scored 0, and its session does not train. */
export const failures = {
  'agent-threw': { about: 'the agent threw an error', isRetried: true },
  'agent-timed-out': { about: 'the agent timed out (--timeout)', isRetried: true },
  'no-interaction': {
    about: 'the agent sent no request, so there is nothing to reward',
    isRetried: true,
  },
  'reward-threw': { about: 'the reward function threw an error, also on retry', isRetried: false },
  'reward-timed-out': {
    about: 'the reward function timed out, also on retry (--reward-timeout)',
    isRetried: false,
  },
  'reward-not-a-number': { about: 'the reward function did not return a finite number', isRetried: false },
  'reward-out-of-range': { about: 'the reward is not between -1 and 1', isRetried: false },
  'reward-refused': { about: 'the server refused the reward', isRetried: false },
  'session-ended': {
    about: 'the session ended meanwhile: it was idle, or another client ended it',
    isRetried: true,
  },
  'no-room': { about: 'the server had no room for a session (--room-timeout)', isRetried: false },
  'server-silent': { about: 'the server did not answer', isRetried: false },
  'environment-unavailable': {
    about: 'no environment could be opened (--room-timeout)',
    isRetried: false,
  },
  'environment-lost': { about: 'the connection to the environment ended', isRetried: true },
  'environment-broken': { about: 'the environment failed while it carried out an action', isRetried: true },
  'evaluation-failed': { about: 'the environment gave no reward, also on retry', isRetried: false },
  'mostly-excluded': {
    about: 'more than half of the attempts at its task failed, so the others would mislead',
    isRetried: false,
  },
  interrupted: { about: 'the rollout was stopped', isRetried: false },
} as const satisfies Readonly<Record<string, FailureRow>>;

export type FailureKind = keyof typeof failures;

export type Failure = { readonly failure: FailureKind; readonly error: string };

export const failed = (failure: FailureKind, error: string): Failure => ({ failure, error });

/**
 * Why an attempt did not finish in a rollout that stops: the reason of `stop` if that is a failure, such as a server
 * that is gone.
 */
export const interrupted = ({ reason }: AbortSignal, error: string): Failure =>
  isFailure(reason) ? reason : failed('interrupted', error);

const isFailure = (reason: unknown): reason is Failure =>
  typeof reason === 'object' && reason !== null && 'failure' in reason;

/** Failures after which an attempt is repeated when its rollout is resumed: they say nothing about its agent. */
export const isRepeated = (outcome: string): boolean =>
  outcome === 'interrupted' || outcome === 'server-silent';

type FailureRow = {
  readonly about: string;
  /** another try may go better */
  readonly again: boolean;
};

/** Every way in which an attempt ends without a reward. None is scored 0; its session trains nobody. */
export const failures = {
  'agent-threw': { about: 'the agent threw', again: true },
  'agent-timed-out': { about: 'the agent was not done in time (--timeout)', again: true },
  'no-interaction': {
    about: 'the agent asked the model nothing, so there is nothing to reward',
    again: true,
  },
  'reward-threw': { about: 'the reward function threw, also when it was tried again', again: false },
  'reward-timed-out': {
    about: 'the reward function was not done in time (--reward-timeout), also when it was tried again',
    again: false,
  },
  'reward-not-a-number': { about: 'the reward function returned no finite number', again: false },
  'reward-out-of-range': { about: 'the reward is not within -1 and 1', again: false },
  'reward-refused': { about: 'the server refused the reward', again: false },
  'session-ended': { about: 'its session ended meanwhile: idle, or by somebody else', again: true },
  'no-room': { about: 'the server had no room for its session (--room-timeout)', again: false },
  'server-silent': { about: 'the server did not answer', again: false },
  interrupted: { about: 'the rollout was stopped first', again: false },
} as const satisfies Readonly<Record<string, FailureRow>>;

export type FailureKind = keyof typeof failures;

export type Failure = { readonly failure: FailureKind; readonly error: string };

export const failed = (failure: FailureKind, error: string): Failure => ({ failure, error });

import type { JudgeConfig } from '../../shared/config/judge.ts';
import type { JobQueueSettings } from '../../shared/queue/job-queue.ts';
import type { Judge } from './judges/judge.ts';

/** Default time limit of one attempt at a vote. ms */
const VOTE_TIMEOUT_MS = 60_000;
/** Default time limit of an exam exchange: enough for four that a CPU answers in turn, 30 s each. ms */
const EXAM_TIMEOUT_MS = 300_000;

/** The retries and the time limit of a vote. */
export const retriesOf = (config: JudgeConfig, judge: Judge): JobQueueSettings => ({
  attempts: config.voteAttempts,
  backoffMs: config.voteBackoffMs,
  maxBackoffMs: config.voteMaxBackoffMs,
  jitter: 0.5,
  timeLimitMs: config.voteTimeoutMs ?? judge.defaultTimeoutMs ?? VOTE_TIMEOUT_MS,
});

/** Time limit of an exam exchange in ms; the default is never below the time limit of a vote. */
export const examTimeLimit = (config: JudgeConfig, judge: Judge): number =>
  config.examTimeoutMs ?? Math.max(EXAM_TIMEOUT_MS, retriesOf(config, judge).timeLimitMs);

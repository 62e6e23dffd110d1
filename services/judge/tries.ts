import type { JobQueueSettings } from '../../shared/queue/job-queue.ts';
import type { JudgeConfig } from './config.ts';
import type { Judge } from './judges/judge.ts';

/** ms per try of one vote, unless the settings or the judge say otherwise */
const VOTE_TIMEOUT_MS = 60_000;
/** ms per exchange of the exam: four that a processor answers one after the other, in 30 s each, are in time */
const EXAM_TIMEOUT_MS = 300_000;

/** How often a judge is asked again that gives no answer, and how long each answer may take. */
export const retriesOf = (config: JudgeConfig, judge: Judge): JobQueueSettings => ({
  attempts: config.voteAttempts,
  backoffMs: config.voteBackoffMs,
  maxBackoffMs: config.voteMaxBackoffMs,
  jitter: 0.5,
  timeLimitMs: config.voteTimeoutMs ?? judge.defaultTimeoutMs ?? VOTE_TIMEOUT_MS,
});

/** ms per exchange of the exam: never less than a vote may take. */
export const examTimeLimit = (config: JudgeConfig, judge: Judge): number =>
  config.examTimeoutMs ?? Math.max(EXAM_TIMEOUT_MS, retriesOf(config, judge).timeLimitMs);

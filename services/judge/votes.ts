import { randomUUID } from 'node:crypto';
import { HintCast } from '../../shared/events/hint-cast.ts';
import type { TurnCompleted } from '../../shared/events/turn-completed.ts';
import type { TurnContinued } from '../../shared/events/turn-continued.ts';
import { VoteCast } from '../../shared/events/vote-cast.ts';
import { VoteFailed } from '../../shared/events/vote-failed.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import type { Attempt } from '../../shared/queue/job-queue.ts';
import { utcNow } from '../../shared/runtime/clock.ts';
import { isServiceError } from '../../shared/runtime/errors.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import { JudgeError } from './errors.ts';
import type { HintOpinion, Judge, Opinion } from './judges/judge.ts';
import type { JudgeMetrics } from './metrics.ts';
import type { OpenVotes } from './open-votes.ts';
import type { VoteJob } from './owed-votes.ts';
import { observationsOn } from './reaction.ts';

type VoteDeps = {
  readonly log: Pick<EventLog, 'read' | 'append'>;
  readonly judge: Judge;
  readonly open: OpenVotes;
  readonly metrics: JudgeMetrics;
  readonly logger: Logger;
};

/**
 * Casts one vote: reads the turn at the position of the job, asks the judge, and appends the event under the id of
 * the job. Does nothing if the vote is no longer owed. Throws when there is no vote; the queue then retries.
 */
export async function castVote(deps: VoteDeps, job: Attempt<VoteJob>, signal: AbortSignal): Promise<void> {
  if (!deps.open.mayBeOwed(job)) return;
  try {
    const turn = await readTurn(deps.log, job.data);
    const { fact, outcome } = await askJudge(deps.judge, job, turn, signal);
    await deps.log.append([fact]);
    count(deps, job, fact.data.cost, outcome);
    deps.open.markCast(job);
    deps.logger.debug({ id: job.id, outcome, text: fact.data.text }, 'vote cast');
  } catch (error) {
    const reason = reasonOf(error, signal);
    deps.metrics.failures.inc({ reason });
    logFailure(deps.logger, job, { reason, error, signal });
    await recordFailure(deps, job, reason);
    throw error;
  }
}

function logFailure(
  logger: Logger,
  { attempt, data: { turnId, index } }: Attempt<VoteJob>,
  {
    reason,
    error,
    signal,
  }: { readonly reason: string; readonly error: unknown; readonly signal: AbortSignal },
): void {
  const fields = { turnId, index, attempt, reason };
  if (!signal.aborted || isServiceError(error))
    logger.warn({ ...fields, err: error }, 'vote failed; will retry');
  // the queue's own error counts its jobs, which explains nothing
  else if (isTimeLimit(signal))
    logger.warn(
      { ...fields, reason: 'no answer within the time limit of a vote' },
      'vote failed; will retry',
    );
  else logger.info(fields, 'vote interrupted; will retry');
}

const isTimeLimit = ({ reason }: AbortSignal): boolean =>
  reason instanceof Error && reason.name === 'TimeoutError';

/** Records a failure that the turn caused, so the next process does not count from 0 again. */
async function recordFailure({ log, logger }: VoteDeps, job: Attempt<VoteJob>, code: string): Promise<void> {
  const reason = turnFailures[code];
  if (reason === undefined) return;
  const { turnId, lane, index } = job.data;
  const id = `${turnId}/failed/${randomUUID()}`;
  const fact = { id, source: 'clawloop/judge', time: utcNow(), data: { turnId, lane, index, reason } };
  await log
    .append([VoteFailed.create(fact)])
    .catch((error: unknown) => logger.warn({ turnId, err: error }, 'could not record a failed vote'));
}

/** Error codes of failures that the turn itself causes. */
const turnFailures: Readonly<Record<string, VoteFailed['data']['reason']>> = {
  vote_overran: 'time-limit',
  vote_broke: 'broke',
};

/** The event to append, and its outcome as a metric label. */
async function askJudge(judge: Judge, job: Attempt<VoteJob>, turn: Turn, signal: AbortSignal) {
  const { turnId, lane, index, asks } = job.data;
  const envelope = { id: job.id, source: 'clawloop/judge', traceparent: turn.traceparent };
  const about = { turnId, lane, index, judge: judge.name };
  if (turn.data.process !== undefined) {
    const opinion = (await judge.step?.(turn.data, index, signal)) ?? abstention;
    const fact = VoteCast.create({ ...envelope, time: utcNow(), data: { ...about, ...opinion } });
    return { fact, outcome: String(opinion.vote) };
  }
  if (asks === undefined) {
    const opinion = await judge.vote(turn.data, index, signal);
    const data = { ...about, ...observationsOn(turn.data), ...opinion };
    const fact = VoteCast.create({ ...envelope, time: utcNow(), data });
    return { fact, outcome: String(opinion.vote) };
  }
  // an earlier judge that casts hint votes may have opened this turn
  const opinion = (await judge.hint?.(turn.data, index, signal)) ?? noHint;
  const fact = HintCast.create({ ...envelope, time: utcNow(), data: { ...about, ...opinion } });
  return { fact, outcome: opinion.hint === undefined ? 'no hint' : 'hint' };
}

const noCost = { promptTokens: 0, completionTokens: 0, milliseconds: 0 };
const noHint: HintOpinion = { decision: -1, text: '', cost: noCost };
/** The vote of a judge that reads what people say, on what a program wrote. */
const abstention: Opinion = { vote: null, text: 'abstains: nobody spoke', cost: noCost };

type Turn = TurnCompleted | TurnContinued;

async function readTurn(log: VoteDeps['log'], { turnId, at }: VoteJob): Promise<Turn> {
  const record = await log.read('turns', at);
  if ((record.type === 'turn.completed' || record.type === 'turn.continued') && record.data.turnId === turnId)
    return record;
  throw JudgeError.NOT_THE_TURN({ ...at, turnId, found: record.type });
}

function count(
  { metrics, open }: VoteDeps,
  job: Attempt<VoteJob>,
  cost: VoteCast['data']['cost'],
  outcome: string,
): void {
  metrics.votes.inc({ vote: outcome });
  metrics.tokens.inc({ kind: 'prompt' }, cost.promptTokens);
  metrics.tokens.inc({ kind: 'completion' }, cost.completionTokens);
  metrics.seconds.observe(cost.milliseconds / 1000);
  if (!open.mayBeOwed(job)) metrics.late.inc();
}

function reasonOf(error: unknown, signal: AbortSignal): string {
  if (isServiceError(error)) return error.code;
  return signal.aborted ? 'aborted' : 'other';
}

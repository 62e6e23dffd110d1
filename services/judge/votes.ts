import { randomUUID } from 'node:crypto';
import { HintCast } from '../../shared/events/hint-cast.ts';
import type { TurnCompleted } from '../../shared/events/turn-completed.ts';
import type { TurnContinued } from '../../shared/events/turn-continued.ts';
import { VoteCast } from '../../shared/events/vote-cast.ts';
import { VoteFailed } from '../../shared/events/vote-failed.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import type { Attempt } from '../../shared/queue/job-queue.ts';
import { utcNow } from '../../shared/service/clock.ts';
import { isServiceError } from '../../shared/service/errors.ts';
import type { Logger } from '../../shared/service/logger.ts';
import { JudgeError } from './errors.ts';
import type { HintOpinion, Judge } from './judges/judge.ts';
import type { JudgeMetrics } from './metrics.ts';
import type { OpenVotes } from './open-votes.ts';
import type { VoteJob } from './owed-votes.ts';
import { shownBy } from './reaction.ts';

export type VoteWorld = {
  readonly log: Pick<EventLog, 'read' | 'append'>;
  readonly judge: Judge;
  readonly open: OpenVotes;
  readonly metrics: JudgeMetrics;
  readonly logger: Logger;
};

/**
 * Works one vote off: reads the turn where the job says, asks the judge, appends the fact under the job's
 * id. Throws when
 * there is no vote, for the queue to try again; does nothing when the vote is no longer owed.
 */
export async function castVote(world: VoteWorld, job: Attempt<VoteJob>, signal: AbortSignal): Promise<void> {
  if (!world.open.mayBeOwed(job)) return;
  const { turnId, index } = job.data;
  try {
    const turn = await readTurn(world.log, job.data);
    const { fact, outcome } = await ask(world.judge, job, turn, signal);
    await world.log.append([fact]);
    count(world, job, fact.data.cost, outcome);
    world.open.markCast(job);
    world.logger.debug({ id: job.id, outcome, text: fact.data.text }, 'vote cast');
  } catch (error) {
    const reason = reasonOf(error, signal);
    world.metrics.failures.inc({ reason });
    world.logger.warn({ turnId, index, attempt: job.attempt, reason, err: error }, 'no vote');
    await noteFailure(world, job, reason);
    throw error;
  }
}

/** What a turn did to its judge is a fact: the next process does not begin to count again. */
async function noteFailure({ log, logger }: VoteWorld, job: Attempt<VoteJob>, code: string): Promise<void> {
  const reason = ofTurn[code];
  if (reason === undefined) return;
  const { turnId, lane, index } = job.data;
  const id = `${turnId}/failed/${randomUUID()}`;
  const fact = { id, source: 'clawloop/judge', time: utcNow(), data: { turnId, lane, index, reason } };
  await log
    .append([VoteFailed.create(fact)])
    .catch((error: unknown) => logger.warn({ turnId, err: error }, 'a failed vote could not be recorded'));
}

/** Failures that the turn itself causes. */
const ofTurn: Readonly<Record<string, VoteFailed['data']['reason']>> = {
  vote_overran: 'time-limit',
  vote_broke: 'broke',
};

/** The fact, and what it says in one word. */
async function ask(judge: Judge, job: Attempt<VoteJob>, turn: Turn, signal: AbortSignal) {
  const { turnId, lane, index, asks } = job.data;
  const envelope = { id: job.id, source: 'clawloop/judge', traceparent: turn.traceparent };
  const about = { turnId, lane, index, judge: judge.name };
  if (asks === undefined) {
    const opinion = await judge.vote(turn.data, index, signal);
    const data = { ...about, ...shownBy(turn.data), ...opinion };
    const fact = VoteCast.create({ ...envelope, time: utcNow(), data });
    return { fact, outcome: String(opinion.vote) };
  }
  // an open turn may have been opened by a judge that is asked for hints
  const opinion = (await judge.hint?.(turn.data, index, signal)) ?? noHint;
  const fact = HintCast.create({ ...envelope, time: utcNow(), data: { ...about, ...opinion } });
  return { fact, outcome: opinion.hint === undefined ? 'no hint' : 'hint' };
}

const noHint: HintOpinion = {
  decision: -1,
  text: '',
  cost: { promptTokens: 0, completionTokens: 0, milliseconds: 0 },
};

type Turn = TurnCompleted | TurnContinued;

async function readTurn(log: VoteWorld['log'], { turnId, at }: VoteJob): Promise<Turn> {
  const record = await log.read('turns', at);
  if ((record.type === 'turn.completed' || record.type === 'turn.continued') && record.data.turnId === turnId)
    return record;
  throw JudgeError.NOT_THE_TURN({ ...at, turnId, found: record.type });
}

function count(
  { metrics, open }: VoteWorld,
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

import type { FeedbackGiven } from '../../../shared/events/feedback-given.ts';
import type { JudgmentReached } from '../../../shared/events/judgment-reached.ts';
import type { ProcessTerms } from '../../../shared/events/process-terms.ts';
import type { SampleReady } from '../../../shared/events/sample-ready.ts';
import type { SessionClosed } from '../../../shared/events/session-closed.ts';
import type { TurnCompleted } from '../../../shared/events/turn-completed.ts';
import type { TurnFeedback } from '../../../shared/events/turn-feedback.ts';
import type { VoteCast } from '../../../shared/events/vote-cast.ts';
import type { VoteExpired } from '../../../shared/events/vote-expired.ts';
import type { VoteFailed } from '../../../shared/events/vote-failed.ts';
import type { Audited, Folds, ReportViolation } from './audited.ts';
import { type Books, openTextNumbers, openTextSet } from './books/books.ts';
import { tallyOf, type Vote } from './judgment-rules.ts';

type Steps = FeedbackGiven['data']['steps'];

/** A step of a rewarded session that is voted on. */
type Step = {
  readonly terms: ProcessTerms;
  readonly needs: number;
  /** by index; the first cast counts */
  readonly votes: Map<number, { readonly vote: Vote; readonly order: number }>;
  readonly failures: Set<string>;
  readonly returns: Map<string, TurnFeedback['data']>;
  /** running numbers of the events about it; the first copy counts */
  readonly orderOf: Map<string, number>;
  /** running number of the event that ended the wait for votes */
  gaveUpAt: number | undefined;
};

/** How the samples of a session weigh. */
const weights: readonly SessionClosed['data']['weigh'][] = [undefined, 'attempt'];

/** failed votes after which the judge asks no more */
const MOST_FAILURES = 3;
/** tolerance for parts that are added in another order */
const ROUNDING = 1e-9;
const differs = (a: number | undefined, b: number | undefined): boolean =>
  a === undefined || b === undefined
    ? a !== b
    : !(Math.abs(a - b) <= ROUNDING * Math.max(1, Math.abs(a), Math.abs(b)));

/**
 * Checks the judgments of steps that are voted on: a judgment is the return, and the weighted mean of all votes if
 * none was missing. Checks that what the votes are compared with, and the part of an advantage that belongs to one
 * step, are what the client sent last, and that the samples of an attempt weigh as its client asked. Shares no code
 * with the judge. Feed it conversations, turns, training.
 */
export function createStepCheck(violation: ReportViolation, folds: Folds, { items, names }: Books) {
  /** by epoch; an answer that comes after the end of its session begins another, which asks for nothing */
  const asked = new Map<string, ProcessTerms | undefined>();
  const latestSteps = new Map<string, Steps>();
  const stepsAtEnd = new Map<string, Steps>();
  const steps = new Map<string, Step>();
  const judged = openTextSet(items);
  const returnsOf = new Map<string, TurnFeedback['data'][]>();
  let order = 0;
  /** by session and epoch that was closed: how its samples weigh, see `weights` */
  const weighs = openTextNumbers(names, 'byte');

  const onCompleted = ({ turnId, epoch, process, from }: TurnCompleted['data']): void => {
    if (asked.has(epoch) && JSON.stringify(asked.get(epoch)) !== JSON.stringify(process))
      violation(`${turnId} is voted on in another way than its session asked for`);
    if (process === undefined || steps.has(turnId) || judged.has(turnId)) return;
    const needs = from === null ? 0 : process.votes;
    steps.set(turnId, {
      terms: process,
      needs,
      votes: new Map(),
      failures: new Set(),
      returns: new Map(),
      orderOf: new Map(),
      gaveUpAt: undefined,
    });
  };

  const onVote = (event: VoteCast | VoteExpired | VoteFailed): void => {
    const step = steps.get(event.data.turnId);
    if (step === undefined || step.orderOf.has(event.id)) return;
    step.orderOf.set(event.id, order);
    if (event.type === 'vote.cast') castOn(step, event, order);
    else giveUpOn(step, event, order);
  };

  const onReturn = ({ id, data }: TurnFeedback): void => {
    if (data.return === undefined) return;
    const step = steps.get(data.turnId);
    if (!step?.orderOf.has(id)) step?.orderOf.set(id, order);
    step?.returns.set(id, data);
    returnsOf.set(data.lane, [...(returnsOf.get(data.lane) ?? []), data]);
  };

  /** The returns of a session come just before its end. */
  const onClosed = ({ lane, session, epoch, by, weigh }: SessionClosed['data']): void => {
    weighs.set(`${session}@${epoch}`, weights.indexOf(weigh) + 1);
    const sent = stepsAtEnd.get(by);
    const stepOf = new Map(sent?.map((step) => [step.interactionId, step]));
    for (const { turnId, process, return: earned } of returnsOf.get(lane) ?? []) {
      const step = stepOf.get(turnId);
      if (differs(step?.advantage, earned?.step))
        violation(
          `the step of ${turnId} has the advantage ${earned?.step}, but its client sent ${step?.advantage}`,
        );
      const known = asked.has(epoch) ? asked.get(epoch) : process;
      const expected =
        known === undefined
          ? undefined
          : sent === undefined
            ? { baseline: 0, scale: 1 }
            : (step?.process ?? null);
      if (differs(expected?.baseline, process?.baseline) || differs(expected?.scale, process?.scale))
        violation(`the votes on ${turnId} are compared with other values than its client sent`);
    }
    returnsOf.delete(lane);
  };

  const onJudgment = (judgment: JudgmentReached['data']): void => {
    const { turnId, process } = judgment;
    const step = steps.get(turnId);
    if (judged.has(turnId)) return; // reported by the conservation check
    judged.add(turnId);
    steps.delete(turnId);
    if (step !== undefined)
      checkStep(step, judgment, (what) => violation(`the judgment of ${turnId} ${what}`));
    else if (process !== undefined)
      violation(`the judgment of ${turnId} counts votes that nobody asked for`, 'turns');
  };

  const onReady = ({ sampleId, session, epoch, weight, following }: SampleReady['data']): void => {
    const name = `${session}@${epoch}`;
    const weigh = weighs.get(name);
    if (weigh === 0) return;
    const isWeighed = weights[weigh - 1] === 'attempt' && following !== undefined;
    const turns = 1 / (weight ?? 1);
    const holds = isWeighed
      ? turns > following - ROUNDING && !differs(turns, Math.round(turns))
      : weight === undefined;
    if (!holds)
      violation(`the sample of ${sampleId} has the weight ${weight}, which its session did not ask for`);
  };

  return (record: Audited): void => {
    const { event } = record;
    const isInput = record.topic === 'turns' && event.type !== 'judgment.reached';
    if (isInput && !folds('judge', record)) return;
    order += 1;
    switch (event.type) {
      case 'session.started':
        asked.set(event.id, event.data.process);
        break;
      case 'feedback.given':
        if (event.data.steps !== undefined) latestSteps.set(event.subject, event.data.steps);
        break;
      case 'session.ended':
        if (latestSteps.has(event.subject)) stepsAtEnd.set(event.id, latestSteps.get(event.subject));
        break;
      case 'turn.completed':
        onCompleted(event.data);
        break;
      case 'turn.feedback':
        onReturn(event);
        break;
      case 'session.closed':
        onClosed(event.data);
        break;
      case 'vote.cast':
      case 'vote.expired':
      case 'vote.failed':
        onVote(event);
        break;
      case 'judgment.reached':
        onJudgment(event.data);
        break;
      case 'sample.ready':
        onReady(event.data);
        break;
    }
  };
}

function castOn(step: Step, { data: { index, vote } }: VoteCast, order: number): void {
  if (step.gaveUpAt === undefined && index < step.needs && !step.votes.has(index))
    step.votes.set(index, { vote, order });
}

function giveUpOn(step: Step, { type, id }: VoteExpired | VoteFailed, order: number): void {
  if (step.votes.size >= step.needs) return;
  if (type === 'vote.failed') step.failures.add(id);
  if (type === 'vote.expired' || step.failures.size >= MOST_FAILURES) step.gaveUpAt ??= order;
}

function checkStep(
  { terms, needs, votes, returns, orderOf, gaveUpAt = Number.POSITIVE_INFINITY }: Step,
  judgment: JudgmentReached['data'],
  wrong: (what: string) => void,
): void {
  const { score, mean, source, advantage, process, hints } = judgment;
  if (source === 'unavailable') {
    if (returns.size > 0 && !judgment.by.endsWith('/withdrawn'))
      wrong('is unavailable, although it has a return');
    return;
  }
  const earned = process === undefined ? undefined : returns.get(process.earned);
  if (process === undefined || earned === undefined) {
    wrong('does not name the return of its step');
    return;
  }
  const settledAt = orderOf.get(judgment.by) ?? Number.NaN;
  if (!((orderOf.get(process.earned) ?? Number.NaN) <= settledAt)) wrong(`was settled by ${judgment.by}`);
  const cast = [...votes]
    .filter(([, { order }]) => order <= settledAt)
    .sort(([a], [b]) => a - b)
    .map(([, { vote }]) => vote);
  if (cast.join() !== judgment.votes.join() || cast.length !== judgment.votes.length)
    wrong(`counts the votes [${judgment.votes}], but [${cast}] were cast in time`);
  const isMissing = earned.process == null || gaveUpAt <= settledAt;
  if (!isMissing && cast.length < needs) wrong('does not wait for its votes');
  const expected = isMissing ? null : tallyOf(cast).mean;
  const { baseline, scale } = earned.process ?? { baseline: 0, scale: 1 };
  const part = expected === null ? 0 : (terms.weight * (expected - baseline)) / scale;
  if (process.mean === null ? expected !== null : differs(process.mean, expected ?? undefined))
    wrong(`has the mean vote ${process.mean}, but its votes give ${expected}`);
  if (source !== (expected === null ? 'reward' : 'reward+process')) wrong(`names the source ${source}`);
  if (process.weight !== terms.weight || process.baseline !== baseline || process.scale !== scale)
    wrong('weighs its votes in another way than its session asked for');
  if (differs(process.part, part)) wrong(`adds ${process.part} for its votes instead of ${part}`);
  const [base, sum] = earned.advantage === undefined ? [undefined, score] : [score, advantage];
  if (earned.advantage === undefined ? advantage !== undefined : base !== earned.score)
    wrong('has another return than its session gave');
  if (differs(sum ?? undefined, (earned.advantage ?? earned.score) + part) || mean !== score)
    wrong(`is ${sum}, but its return and its votes add up to ${(earned.advantage ?? earned.score) + part}`);
  if (hints.length > 0) wrong('has hints, although its votes bring none');
}

import type { HintCast } from '../../../shared/events/hint-cast.ts';
import type { JudgmentRevised } from '../../../shared/events/judgment-revised.ts';
import type { SampleDropped } from '../../../shared/events/sample-dropped.ts';
import { hasCarriedId, turnOfSample } from '../../../shared/events/sample-id.ts';
import type { SampleReady } from '../../../shared/events/sample-ready.ts';
import type { TurnFeedback } from '../../../shared/events/turn-feedback.ts';
import type { VoteCast } from '../../../shared/events/vote-cast.ts';
import { type Audited, digestOf, type Folds, type ReportViolation } from './audited.ts';
import { type Books, openTextSet } from './books/books.ts';
import { openColumn } from './books/column.ts';
import { type Ids, type Names, openIds } from './books/ids.ts';
import { openTable } from './books/table.ts';
import {
  acceptedHints,
  checkSource,
  droppedFor,
  type Judgment,
  type OpenTurn,
  type Settled,
  tallyOf,
  until,
  type Vote,
} from './judgment-rules.ts';

/** Reasons to drop a sample before it is judged. */
const unjudged: readonly SampleDropped['data']['reason'][] = ['deleted', 'withdrawn', 'record-gone'];

/** What is kept of a judgment. */
const settled = {
  score: 'number',
  mean: 'number',
  source: 'name',
  advantage: 'number',
  settle: 'name',
  hints: 'number',
  hintCount: 'count',
} as const;

/** largest absolute score of an implicit verdict */
const MAX_IMPLICIT_SCORE = 0.5;

/**
 * Checks that a judgment is the tally of the votes before it, or the feedback that outranks them, and that a
 * sample has the verdict and hints of its judgment. It shares no code with the judge. Feed it turns, then
 * training.
 */
export class JudgmentCheck {
  readonly #violation: ReportViolation;
  readonly #folds: Folds;
  readonly #items: Names;
  readonly #causes: Ids;
  readonly #open = new Map<string, OpenTurn>();
  /** turns that were open when they were judged */
  readonly #judged;
  /** by judged turn: its latest revision */
  readonly #revisions = openColumn('int');
  /** by judged turn, of those that have any */
  readonly #feedbackOf = new Map<string, OpenTurn['feedback']>();
  /** turn, kind and index of votes and hints; the first cast counts */
  readonly #casts = openIds();
  /** turn and hint: what judges and people said of open and judged turns */
  readonly #given = openIds();
  readonly #settled;
  /** by cause: running number of its first copy */
  readonly #orderOf = openColumn('int');
  #order = 0;

  constructor(violation: ReportViolation, folds: Folds, { items, causes, names }: Books) {
    this.#violation = violation;
    this.#folds = folds;
    this.#items = items;
    this.#causes = causes;
    this.#judged = openTextSet(items);
    this.#settled = openTable(names, settled);
  }

  /** The first copy counts. */
  #note(id: string): void {
    const cause = this.#causes.add(id);
    if (this.#orderOf.get(cause) === 0) this.#orderOf.set(cause, this.#order);
  }

  #orderOfCause(id: string): number {
    return this.#orderOf.get(this.#causes.find(id)) || Number.POSITIVE_INFINITY;
  }

  /** A call that carries the revised verdict of a later answer is checked against its own first judgment. */
  #settledAs(sampleId: string): Settled | undefined {
    const judged = hasCarriedId(sampleId) ? turnOfSample(sampleId) : sampleId;
    // the same values that were set
    return this.#settled.get(this.#items.find(judged)) as Settled | undefined;
  }

  #onVote({ id, data }: VoteCast | HintCast): void {
    const { turnId, index, hint } = data;
    const turn = this.#open.get(turnId);
    if (turn === undefined && !this.#judged.has(turnId)) return;
    this.#note(id);
    const kind = 'vote' in data ? 'vote' : 'hint';
    const before = this.#casts.size();
    if (this.#casts.add(`${turnId} ${kind} ${index}`) < before) return;
    this.#give(turnId, hint);
    const cast = { order: this.#order, hint };
    if ('vote' in data) turn?.votes.set(index, { ...cast, vote: data.vote });
    else turn?.hints.set(index, cast);
  }

  #give(turnId: string, hint: string | undefined): void {
    if (hint !== undefined) this.#given.add(`${turnId} ${hint.trim()}`);
  }

  #onFeedback({ id, data }: TurnFeedback): void {
    this.#note(id);
    const { turnId, comment } = data;
    const open = this.#open.get(turnId)?.feedback;
    if (open === undefined && !this.#judged.has(turnId)) return;
    const feedback = open ?? this.#feedbackOf.get(turnId) ?? new Map();
    feedback.set(id, data);
    if (open === undefined) this.#feedbackOf.set(turnId, feedback);
    this.#give(turnId, comment);
  }

  #onJudgment(judgment: Judgment, isErased: boolean): void {
    const { turnId, score, mean, source, advantage, hints, inferred, by } = judgment;
    const item = this.#items.add(turnId);
    if (this.#settled.has(item)) return; // reported by the conservation check
    const turn = this.#open.get(turnId);
    if (turn !== undefined) {
      this.#judged.add(turnId);
      if (turn.feedback.size > 0) this.#feedbackOf.set(turnId, turn.feedback);
    }
    this.#open.delete(turnId);
    this.#settled.set(item, {
      score,
      mean,
      source: source === 'reward+process' ? 'reward' : source,
      advantage,
      settle: turn?.settle,
      hints: digestOf(hints),
      hintCount: hints.length,
    });
    if (turn === undefined) return; // reported by the conservation check
    if (turn.isStep) return; // the step check reads it
    const wrong = (what: string) => this.#violation(`the judgment of ${turnId} ${what}`);
    const before = this.#orderOfCause(by);
    const votes = until(turn.votes, before, turn.settle === 'votes' ? judgment.needs : 0);
    const counted = votes.map(({ vote }) => vote as Vote);
    if (counted.join() !== judgment.votes.join() || counted.length !== judgment.votes.length)
      wrong(`counts the votes [${judgment.votes}], but [${counted}] were cast before ${by}`);
    const feedback = turn.feedback.get(by);
    checkSource(turn, judgment, feedback, wrong);
    if (source === 'votes') {
      const tally = tallyOf(judgment.votes);
      if (score !== tally.score || Math.abs(mean - tally.mean) > 1e-9)
        wrong(
          `is ${score} with a mean of ${mean}, but its votes give ${tally.score} with a mean of ${tally.mean}`,
        );
      if (judgment.votes.length < judgment.needs)
        wrong(`counts ${judgment.votes.length} of ${judgment.needs} votes`);
    } else if (source === 'implicit') {
      if (
        Math.abs(score ?? 1) > MAX_IMPLICIT_SCORE ||
        (score !== 0 && advantage !== score) ||
        hints.length > 0
      )
        wrong(`is implicit, but has the score ${score} and the advantage ${advantage}`);
      if (counted.some((vote) => vote !== 0 && vote !== null))
        wrong(`is implicit, although [${counted}] were cast`);
    } else if (source === 'unavailable') {
      if (score !== null || mean !== 0) wrong(`is unavailable, but has the score ${score}`);
    } else if (feedback !== undefined && (feedback.score !== score || mean !== score))
      wrong(`is ${score} with a mean of ${mean}, but ${by} says ${feedback.score}`);
    if (source !== 'implicit' && advantage !== feedback?.advantage)
      wrong(`has the advantage ${advantage}, but ${by} says ${feedback?.advantage}`);
    const comment = feedback !== undefined && feedback.score < 0 ? feedback.comment : undefined;
    const given = [...votes, ...until(turn.hints, before, Number.POSITIVE_INFINITY)].map(({ hint }) => hint);
    if (inferred !== undefined && (source !== 'votes' || score !== -1 || hints.join() !== inferred))
      wrong(`infers the hint ${inferred}, but has other hints or no complaint`);
    if (!isErased && digestOf(acceptedHints([...given, comment, inferred])) !== digestOf(hints))
      wrong('has other hints than its judges and feedback gave');
  }

  /** A revision uses votes, hints and feedback from before or after the first judgment. */
  #onRevised({ data }: JudgmentRevised): void {
    const { turnId, n, score, source, advantage, hints, votes, by } = data;
    const wrong = (what: string) => this.#violation(`the revised judgment ${n} of ${turnId} ${what}`);
    const [turn, sample] = [this.#items.add(turnId), this.#items.add(`${turnId}~${n}`)];
    if (this.#settled.has(sample)) return; // reported by the conservation check
    this.#settled.set(sample, {
      score: score ?? 0,
      mean: score ?? 0,
      source,
      advantage,
      settle: 'votes' as const,
      hints: digestOf(hints),
      hintCount: hints.length,
    });
    if (!this.#judged.has(turnId)) {
      this.#violation(`${turnId} has a revised judgment, but none before it`, 'turns');
      return;
    }
    const before = this.#revisions.get(turn);
    if (n !== before + 1) wrong(`follows revision ${before}`);
    this.#revisions.set(turn, n);
    const feedback = this.#feedbackOf.get(turnId)?.get(by);
    if (source === 'feedback' && (feedback === undefined || feedback.score !== score))
      wrong(`is by feedback with the score ${score}, but ${by} says ${feedback?.score}`);
    if (source === 'votes' && score !== null && tallyOf(votes).score !== score)
      wrong(`has the score ${score}, but its votes give ${tallyOf(votes).score}`);
    if (!hints.every((hint) => this.#given.find(`${turnId} ${hint}`) >= 0))
      wrong('has a hint that nobody gave');
  }

  #onReady({ data }: SampleReady): void {
    const { sampleId, verdict, source, advantage, soft, hints, following, carried } = data;
    const judgment = this.#settledAs(sampleId);
    if (judgment === undefined) {
      this.#violation(`the sample of ${sampleId} has no judgment`, 'turns');
      return;
    }
    const wrong = (what: string) => this.#violation(`the sample of ${sampleId} ${what}`);
    if (hasCarriedId(sampleId) && carried === undefined)
      wrong('is named like one that carries the verdict of a later answer, but carries none');
    if (carried !== undefined) {
      if (judgment.score !== 0 || judgment.source !== 'votes' || judgment.hintCount > 0)
        wrong('carries the verdict of a later answer, although its own counts');
      return;
    }
    const expected = soft ? judgment.mean : judgment.score;
    if (verdict !== expected) wrong(`has the verdict ${verdict}, but its judgment says ${expected}`);
    if (source !== judgment.source) wrong(`names the source ${source}, but its judgment ${judgment.source}`);
    if (advantage !== judgment.advantage)
      wrong(`has the advantage ${advantage}, but its judgment ${judgment.advantage}`);
    if (digestOf(hints) !== judgment.hints) wrong('has other hints than its judgment');
    if (soft && (source !== 'votes' || judgment.score !== 0))
      wrong('represents its session, although its own verdict counts');
    if ((following !== undefined) !== (source === 'reward'))
      wrong('contradicts itself about whether its session is settled by reward');
  }

  #onDropped({ data: { sampleId, reason, returned } }: SampleDropped): void {
    if (returned !== undefined) return; // it was ready, and trained once
    const judgment = this.#settledAs(sampleId);
    if (judgment === undefined && !unjudged.includes(reason))
      this.#violation(`${sampleId} was dropped as ${reason}, but has no judgment`, 'turns');
    const holds = judgment === undefined || droppedFor(judgment, reason);
    if (!holds) this.#violation(`${sampleId} was dropped as ${reason}, but its judgment contradicts that`);
  }

  readonly on = (record: Audited): void => {
    const { event } = record;
    this.#order += 1;
    const isInput =
      record.topic === 'turns' && event.type !== 'judgment.reached' && event.type !== 'judgment.revised';
    if (isInput && !this.#folds('judge', record)) return;
    switch (event.type) {
      case 'turn.completed':
        if (this.#open.has(event.data.turnId) || this.#settled.has(this.#items.find(event.data.turnId)))
          break;
        this.#open.set(event.data.turnId, {
          settle: event.data.settle,
          votes: new Map(),
          hints: new Map(),
          feedback: new Map(),
          withdrawn: new Set(),
          implies: event.data.implies,
          isStep: event.data.process !== undefined,
        });
        break;
      case 'vote.cast':
      case 'hint.cast':
        this.#onVote(event);
        break;
      case 'vote.expired':
      case 'vote.failed':
      case 'session.closed':
        this.#note(event.id);
        break;
      case 'turn.withdrawn':
        this.#note(event.id);
        this.#open.get(event.data.turnId)?.withdrawn.add(event.id);
        break;
      case 'turn.feedback':
        this.#onFeedback(event);
        break;
      case 'judgment.reached':
        this.#onJudgment(event.data, event.erased !== undefined);
        break;
      case 'judgment.revised':
        this.#onRevised(event);
        break;
      case 'sample.ready':
        this.#onReady(event);
        break;
      case 'sample.dropped':
        this.#onDropped(event);
        break;
    }
  };
}

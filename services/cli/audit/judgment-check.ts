import type { HintCast } from '../../../shared/events/hint-cast.ts';
import type { JudgmentRevised } from '../../../shared/events/judgment-revised.ts';
import type { SampleDropped } from '../../../shared/events/sample-dropped.ts';
import type { SampleReady } from '../../../shared/events/sample-ready.ts';
import type { VoteCast } from '../../../shared/events/vote-cast.ts';
import { type Audited, digestOf, type Folds, type ReportViolation } from './audited.ts';
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
  readonly #open = new Map<string, OpenTurn>();
  readonly #judged = new Map<string, { readonly turn: OpenTurn; readonly n: number }>();
  readonly #settled = new Map<string, Settled>();
  readonly #orderOf = new Map<string, number>();
  #order = 0;

  constructor(violation: ReportViolation, folds: Folds) {
    this.#violation = violation;
    this.#folds = folds;
  }

  /** The first copy counts. */
  #note(id: string): void {
    if (!this.#orderOf.has(id)) this.#orderOf.set(id, this.#order);
  }

  #onVote({ id, data }: VoteCast | HintCast): void {
    const { turnId, index, hint } = data;
    const turn = this.#open.get(turnId) ?? this.#judged.get(turnId)?.turn;
    if (turn === undefined) return;
    this.#note(id);
    const [table, cast] = 'vote' in data ? [turn.votes, { vote: data.vote }] : [turn.hints, {}];
    if (!table.has(index)) table.set(index, { order: this.#order, hint, ...cast });
  }

  #onJudgment(judgment: Judgment, isErased: boolean): void {
    const { turnId, score, mean, source, advantage, hints, inferred, by } = judgment;
    if (this.#settled.has(turnId)) return; // reported by the conservation check
    const turn = this.#open.get(turnId);
    if (turn !== undefined) this.#judged.set(turnId, { turn, n: 0 });
    this.#open.delete(turnId);
    this.#settled.set(turnId, {
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
    const before = this.#orderOf.get(by) ?? Number.POSITIVE_INFINITY;
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
    const known = this.#judged.get(turnId);
    const sampleId = `${turnId}~${n}`;
    if (this.#settled.has(sampleId)) return; // reported by the conservation check
    this.#settled.set(sampleId, {
      score: score ?? 0,
      mean: score ?? 0,
      source,
      advantage,
      settle: 'votes' as const,
      hints: digestOf(hints),
      hintCount: hints.length,
    });
    if (known === undefined) {
      this.#violation(`${turnId} has a revised judgment, but none before it`, 'turns');
      return;
    }
    const { turn } = known;
    if (n !== known.n + 1) wrong(`follows revision ${known.n}`);
    this.#judged.set(turnId, { turn, n });
    const feedback = turn.feedback.get(by);
    if (source === 'feedback' && (feedback === undefined || feedback.score !== score))
      wrong(`is by feedback with the score ${score}, but ${by} says ${feedback?.score}`);
    if (source === 'votes' && score !== null && tallyOf(votes).score !== score)
      wrong(`has the score ${score}, but its votes give ${tallyOf(votes).score}`);
    const given = new Set([
      ...[...turn.votes.values(), ...turn.hints.values()].map(({ hint }) => hint?.trim()),
      ...[...turn.feedback.values()].map(({ comment }) => comment?.trim()),
    ]);
    if (!hints.every((hint) => given.has(hint))) wrong('has a hint that nobody gave');
  }

  #onReady({ data }: SampleReady): void {
    const { sampleId, verdict, source, advantage, soft, hints, following, carried } = data;
    const judgment = this.#settled.get(sampleId);
    if (judgment === undefined) {
      this.#violation(`the sample of ${sampleId} has no judgment`, 'turns');
      return;
    }
    const wrong = (what: string) => this.#violation(`the sample of ${sampleId} ${what}`);
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

  #onDropped({ data: { sampleId, reason } }: SampleDropped): void {
    const judgment = this.#settled.get(sampleId);
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
        if (this.#open.has(event.data.turnId) || this.#settled.has(event.data.turnId)) break;
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
        this.#note(event.id);
        (this.#open.get(event.data.turnId) ?? this.#judged.get(event.data.turnId)?.turn)?.feedback.set(
          event.id,
          event.data,
        );
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

import type { HintCast } from '../../../shared/events/hint-cast.ts';
import type { JudgmentReached } from '../../../shared/events/judgment-reached.ts';
import type { JudgmentRevised } from '../../../shared/events/judgment-revised.ts';
import type { SampleDropped } from '../../../shared/events/sample-dropped.ts';
import type { SampleReady } from '../../../shared/events/sample-ready.ts';
import type { TurnCompleted } from '../../../shared/events/turn-completed.ts';
import type { TurnFeedback } from '../../../shared/events/turn-feedback.ts';
import type { VoteCast } from '../../../shared/events/vote-cast.ts';
import { type Audited, digestOf, type Folds, type Tell } from './audited.ts';

type Vote = VoteCast['data']['vote'];
type Judgment = JudgmentReached['data'];
/** `order`: running number among the events of `turns` */
type Cast = { readonly order: number; readonly vote?: Vote; readonly hint: string | undefined };

type OpenTurn = {
  readonly settle: TurnCompleted['data']['settle'];
  /** by index; the first counts */
  readonly votes: Map<number, Cast>;
  readonly hints: Map<number, Cast>;
  readonly feedback: Map<string, TurnFeedback['data']>;
  readonly withdrawn: Set<string>;
  readonly implies: TurnCompleted['data']['implies'];
};

type Settled = Pick<Judgment, 'mean' | 'advantage'> & {
  readonly score: Judgment['score'];
  readonly source: Judgment['source'];
  readonly settle: TurnCompleted['data']['settle'];
  readonly hints: string;
  readonly hintCount: number;
};

/** What may be dropped before it is judged. */
const unjudged: readonly SampleDropped['data']['reason'][] = ['deleted', 'withdrawn', 'record-gone'];

/** By size, a verdict that rests on what a person did alone. */
const MOST_WEAK = 0.5;

/** Shorter hints teach nothing. Characters. */
const SHORT_HINT = 10;

/**
 * A judgment is the tally of the votes that stand before it, or the feedback that outranks them; a sample has
 * the verdict and the hints of its judgment. Counts on its own, without the judge's code. Feed it turns, then
 * training.
 */
export function createJudgmentCheck(tell: Tell, folds: Folds) {
  const open = new Map<string, OpenTurn>();
  const judged = new Map<string, { readonly turn: OpenTurn; readonly n: number }>();
  const settled = new Map<string, Settled>();
  const orderOf = new Map<string, number>();
  let order = 0;
  /** Of copies the first counts. */
  const note = (id: string) => void (orderOf.has(id) || orderOf.set(id, order));

  const onVote = ({ id, data }: VoteCast | HintCast): void => {
    const { turnId, index, hint } = data;
    const turn = open.get(turnId) ?? judged.get(turnId)?.turn;
    if (turn === undefined) return;
    note(id);
    const [table, cast] = 'vote' in data ? [turn.votes, { vote: data.vote }] : [turn.hints, {}];
    if (!table.has(index)) table.set(index, { order, hint, ...cast });
  };

  const onJudgment = (judgment: Judgment): void => {
    const { turnId, score, mean, source, advantage, hints, inferred, by } = judgment;
    if (settled.has(turnId)) return; // said where judgments are counted
    const turn = open.get(turnId);
    if (turn !== undefined) judged.set(turnId, { turn, n: 0 });
    open.delete(turnId);
    settled.set(turnId, {
      ...{ score, mean, source, advantage, settle: turn?.settle ?? 'votes' },
      ...{ hints: digestOf(hints), hintCount: hints.length },
    });
    if (turn === undefined) return; // said where turns are counted
    const wrong = (what: string) => tell(`the judgment of ${turnId} ${what}`);
    const before = orderOf.get(by) ?? Number.POSITIVE_INFINITY;
    const votes = until(turn.votes, before, turn.settle === 'votes' ? judgment.needs : 0);
    const counted = votes.map(({ vote }) => vote as Vote);
    if (counted.join() !== judgment.votes.join() || counted.length !== judgment.votes.length)
      wrong(`counts the votes [${judgment.votes}], and [${counted}] were cast before ${by}`);
    const feedback = turn.feedback.get(by);
    checkSource(turn, judgment, feedback, wrong);
    if (source === 'votes') {
      const tally = tallyOf(judgment.votes);
      if (score !== tally.score || Math.abs(mean - tally.mean) > 1e-9)
        wrong(
          `is ${score} with a mean of ${mean}, and its votes make ${tally.score} with a mean of ${tally.mean}`,
        );
      if (judgment.votes.length < judgment.needs)
        wrong(`counts ${judgment.votes.length} of ${judgment.needs} votes`);
    } else if (source === 'implicit') {
      if (Math.abs(score ?? 1) > MOST_WEAK || (score !== 0 && advantage !== score) || hints.length > 0)
        wrong(`is implicit, and has the score ${score} and the advantage ${advantage}`);
      if (counted.some((vote) => vote !== 0 && vote !== null))
        wrong(`is implicit, although [${counted}] were cast`);
    } else if (source === 'unavailable') {
      if (score !== null || mean !== 0) wrong(`is unavailable, and yet has the score ${score}`);
    } else if (feedback !== undefined && (feedback.score !== score || mean !== score))
      wrong(`is ${score} with a mean of ${mean}, and ${by} says ${feedback.score}`);
    if (source !== 'implicit' && advantage !== feedback?.advantage)
      wrong(`has the advantage ${advantage}, and ${by} says ${feedback?.advantage}`);
    const comment = feedback !== undefined && feedback.score < 0 ? feedback.comment : undefined;
    const given = [...votes, ...until(turn.hints, before, Number.POSITIVE_INFINITY)].map(({ hint }) => hint);
    if (inferred !== undefined && (source !== 'votes' || score !== -1 || hints.join() !== inferred))
      wrong(`infers the hint ${inferred}, and has others or no complaint`);
    if (digestOf(acceptedHints([...given, comment, inferred])) !== digestOf(hints))
      wrong('has other hints than its judges and its feedback gave');
  };

  /** Of what its judges and its feedback gave, before or after its judgment. */
  const onRevised = ({ data }: JudgmentRevised): void => {
    const { turnId, n, score, source, advantage, hints, votes, by } = data;
    const wrong = (what: string) => tell(`the revised judgment ${n} of ${turnId} ${what}`);
    const known = judged.get(turnId);
    const sampleId = `${turnId}~${n}`;
    if (settled.has(sampleId)) return; // said where judgments are counted
    settled.set(sampleId, {
      ...{ score: score ?? 0, mean: score ?? 0, source, advantage, settle: 'votes' as const },
      ...{ hints: digestOf(hints), hintCount: hints.length },
    });
    if (known === undefined) {
      tell(`${turnId} has a revised judgment, and none before`, 'turns');
      return;
    }
    const { turn } = known;
    if (n !== known.n + 1) wrong(`follows revision ${known.n}`);
    judged.set(turnId, { turn, n });
    const feedback = turn.feedback.get(by);
    if (source === 'feedback' && (feedback === undefined || feedback.score !== score))
      wrong(`is by feedback with the score ${score}, and ${by} says ${feedback?.score}`);
    if (source === 'votes' && score !== null && tallyOf(votes).score !== score)
      wrong(`has the score ${score}, and its votes make ${tallyOf(votes).score}`);
    const given = new Set([
      ...[...turn.votes.values(), ...turn.hints.values()].map(({ hint }) => hint?.trim()),
      ...[...turn.feedback.values()].map(({ comment }) => comment?.trim()),
    ]);
    if (!hints.every((hint) => given.has(hint))) wrong('has a hint that nobody gave');
  };

  const onReady = ({ data }: SampleReady): void => {
    const { sampleId, verdict, source, advantage, soft, hints, following, carried } = data;
    const judgment = settled.get(sampleId);
    if (judgment === undefined) {
      tell(`the sample of ${sampleId} has no judgment`, 'turns');
      return;
    }
    const wrong = (what: string) => tell(`the sample of ${sampleId} ${what}`);
    if (carried !== undefined) {
      if (judgment.score !== 0 || judgment.source !== 'votes' || judgment.hintCount > 0)
        wrong('has the verdict of a later answer, although its own counts');
      return;
    }
    const expected = soft ? judgment.mean : judgment.score;
    if (verdict !== expected) wrong(`has the verdict ${verdict}, and its judgment says ${expected}`);
    if (source !== judgment.source) wrong(`was judged by ${source}, and its judgment by ${judgment.source}`);
    if (advantage !== judgment.advantage)
      wrong(`has the advantage ${advantage}, and its judgment ${judgment.advantage}`);
    if (digestOf(hints) !== judgment.hints) wrong('has other hints than its judgment');
    if (soft && (source !== 'votes' || judgment.score !== 0))
      wrong('stands for its session, although its own verdict counts');
    if ((following !== undefined) !== (source === 'reward'))
      wrong('contradicts itself on whether its session is settled by reward');
  };

  const onDropped = ({ data: { sampleId, reason } }: SampleDropped): void => {
    const judgment = settled.get(sampleId);
    if (judgment === undefined && !unjudged.includes(reason))
      tell(`${sampleId} was dropped as ${reason}, and has no judgment`, 'turns');
    const holds = judgment === undefined || droppedFor(judgment, reason);
    if (!holds) tell(`${sampleId} was dropped as ${reason}, which its judgment contradicts`);
  };

  return (record: Audited): void => {
    const { event } = record;
    order += 1;
    const isInput =
      record.topic === 'turns' && event.type !== 'judgment.reached' && event.type !== 'judgment.revised';
    if (isInput && !folds('judge', record)) return;
    switch (event.type) {
      case 'turn.completed':
        if (open.has(event.data.turnId) || settled.has(event.data.turnId)) break;
        open.set(event.data.turnId, {
          settle: event.data.settle,
          ...{ votes: new Map(), hints: new Map(), feedback: new Map(), withdrawn: new Set() },
          implies: event.data.implies,
        });
        break;
      case 'vote.cast':
      case 'hint.cast':
        onVote(event);
        break;
      case 'vote.expired':
      case 'vote.failed':
      case 'session.closed':
        note(event.id);
        break;
      case 'turn.withdrawn':
        note(event.id);
        open.get(event.data.turnId)?.withdrawn.add(event.id);
        break;
      case 'turn.feedback':
        note(event.id);
        (open.get(event.data.turnId) ?? judged.get(event.data.turnId)?.turn)?.feedback.set(
          event.id,
          event.data,
        );
        break;
      case 'judgment.reached':
        onJudgment(event.data);
        break;
      case 'judgment.revised':
        onRevised(event);
        break;
      case 'sample.ready':
        onReady(event);
        break;
      case 'sample.dropped':
        onDropped(event);
        break;
    }
  };
}

/** What settled a turn is of the kind that the judgment names. */
function checkSource(
  turn: OpenTurn,
  { turnId, source, by, votes, needs }: Judgment,
  feedback: TurnFeedback['data'] | undefined,
  wrong: (what: string) => void,
): void {
  const byVote = by.startsWith(`${turnId}/vote/`) || by.startsWith(`${turnId}/hint/`);
  const expired = by === `${turnId}/expired` || by.startsWith(`${turnId}/failed/`);
  const holds = {
    votes: byVote || expired,
    feedback: feedback !== undefined && turn.settle === 'votes',
    reward: feedback !== undefined && turn.settle === 'reward',
    implicit:
      turn.settle === 'votes' &&
      (turn.implies === 'regenerated' || turn.implies === 'edited'
        ? by === `${turnId}/completed`
        : byVote || expired),
    unavailable:
      turn.withdrawn.has(by) ||
      (expired && votes.length < needs) ||
      (turn.settle === 'reward' && by.endsWith('/closed')),
  }[source];
  if (!holds) wrong(`is by ${source}, and ${by} settled it`);
}

/** The first of each index that stand up to an event, by index. */
const until = (casts: ReadonlyMap<number, Cast>, order: number, needs: number): readonly Cast[] =>
  [...casts]
    .filter(([index, cast]) => index < needs && cast.order <= order)
    .sort(([a], [b]) => a - b)
    .map(([, cast]) => cast);

function tallyOf(votes: readonly Vote[]): { readonly score: number; readonly mean: number } {
  const valid = votes.filter((vote) => vote !== null);
  if (valid.length === 0) return { score: 0, mean: 0 };
  const count = (vote: Vote) => valid.filter((one) => one === vote).length;
  const [bad, none, good] = [count(-1), count(0), count(1)];
  const score = good > bad && good > none ? 1 : bad > good && bad > none ? -1 : 0;
  return { score, mean: (good - bad) / valid.length };
}

function acceptedHints(given: readonly (string | undefined)[]): readonly string[] {
  const long = given.map((hint) => hint?.trim() ?? '').filter(({ length }) => length > SHORT_HINT);
  return [...new Set(long)].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
}

function droppedFor(
  { source, settle, score, hintCount }: Settled,
  reason: SampleDropped['data']['reason'],
): boolean {
  switch (reason) {
    case 'unavailable':
    case 'vote-failed':
      return source === 'unavailable' && settle === 'votes';
    case 'no-reward':
    case 'discarded':
      return source === 'unavailable' && settle === 'reward';
    case 'no-verdict':
      return source !== 'unavailable' && score === 0;
    case 'no-hint':
      return source !== 'unavailable' && hintCount === 0;
    case 'corrected':
      return source !== 'reward';
    case 'secret':
      return hintCount > 0;
    case 'stale':
    case 'off-lineage':
      return source !== 'unavailable';
    default:
      return true;
  }
}

import type { JudgmentReached } from '../../../shared/events/judgment-reached.ts';
import type { SampleDropped } from '../../../shared/events/sample-dropped.ts';
import type { TurnCompleted } from '../../../shared/events/turn-completed.ts';
import type { TurnFeedback } from '../../../shared/events/turn-feedback.ts';
import type { VoteCast } from '../../../shared/events/vote-cast.ts';

export type Vote = VoteCast['data']['vote'];
export type Judgment = JudgmentReached['data'];
/** `order`: running number among the events */
type Cast = { readonly order: number; readonly vote?: Vote; readonly hint: string | undefined };

export type OpenTurn = {
  readonly settle: TurnCompleted['data']['settle'];
  /** by index; the first cast counts */
  readonly votes: Map<number, Cast>;
  readonly hints: Map<number, Cast>;
  readonly feedback: Map<string, TurnFeedback['data']>;
  readonly withdrawn: Set<string>;
  readonly implies: TurnCompleted['data']['implies'];
  /** a step of a rewarded session that is voted on: the step check reads its votes */
  readonly isStep: boolean;
};

export type Settled = Pick<Judgment, 'mean' | 'advantage'> & {
  readonly score: Judgment['score'];
  /** as its sample names it */
  readonly source: Exclude<Judgment['source'], 'reward+process'>;
  /** undefined: the record of its turn was trimmed */
  readonly settle: TurnCompleted['data']['settle'] | undefined;
  /** digest */
  readonly hints: number;
  readonly hintCount: number;
};

/** characters; hints of this length or shorter are ignored */
const IGNORED_HINT_LENGTH = 10;

/** The event that settled a turn must match the source that the judgment names. */
export function checkSource(
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
  }[source === 'reward+process' ? 'reward' : source];
  if (!holds) wrong(`is by ${source}, but ${by} settled it`);
}

/** The first cast of each index up to an event, by index. */
export const until = (casts: ReadonlyMap<number, Cast>, order: number, needs: number): readonly Cast[] =>
  [...casts]
    .filter(([index, cast]) => index < needs && cast.order <= order)
    .sort(([a], [b]) => a - b)
    .map(([, cast]) => cast);

export function tallyOf(votes: readonly Vote[]): { readonly score: number; readonly mean: number } {
  const valid = votes.filter((vote) => vote !== null);
  if (valid.length === 0) return { score: 0, mean: 0 };
  const count = (vote: Vote) => valid.filter((other) => other === vote).length;
  const [bad, none, good] = [count(-1), count(0), count(1)];
  const score = good > bad && good > none ? 1 : bad > good && bad > none ? -1 : 0;
  return { score, mean: (good - bad) / valid.length };
}

export function acceptedHints(given: readonly (string | undefined)[]): readonly string[] {
  const long = given.map((hint) => hint?.trim() ?? '').filter(({ length }) => length > IGNORED_HINT_LENGTH);
  return [...new Set(long)].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
}

export function droppedFor(
  { source, settle, score, hintCount }: Settled,
  reason: SampleDropped['data']['reason'],
): boolean {
  switch (reason) {
    case 'unavailable':
    case 'vote-failed':
      return source === 'unavailable' && settle !== 'reward';
    case 'no-reward':
    case 'discarded':
      return source === 'unavailable' && settle !== 'votes';
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

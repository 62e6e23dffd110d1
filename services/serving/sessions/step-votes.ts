import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { VoteCast } from '../../../shared/events/vote-cast.ts';
import { mean } from '../../../shared/lang/numbers.ts';
import type { EventLog, Following } from '../../../shared/log/event-log.ts';
import { createReachEnd } from '../reach-end.ts';

/** What is known of the votes on one turn. */
type TurnVotes = {
  readonly byIndex: Map<number, VoteCast['data']['vote']>;
  readonly failures: Set<string>;
  /** it does not train, so nobody votes on it */
  isSkipped: boolean;
  isExpired: boolean;
};

/** `missing`: the judge gave up on a vote. `none`: nobody votes, or every vote is null. `score`: mean of the valid votes. */
export type StepScore =
  | { readonly votes: 'pending' | 'missing'; readonly score: null }
  | { readonly votes: 'complete' | 'none'; readonly score: number };

export type StepVotes = {
  /** The votes on a turn of an open session, as far as the log has been read. */
  readonly of: (lane: string) => Promise<(turnId: string, needs: number) => StepScore>;
};

type Options = {
  readonly log: Pick<EventLog, 'follow'>;
  readonly signal: AbortSignal;
  /** Whether a lane has an open session whose steps are voted on. */
  readonly isVotedOn: (lane: string) => boolean;
};

const voteTypes: ReadonlySet<string> = new Set(['turn.skipped', 'vote.cast', 'vote.expired', 'vote.failed']);
/** failed votes after which the judge asks no more */
const MOST_FAILURES = 3;

/**
 * The votes on the steps of open sessions: a fold of `turns` in memory. The topic is read at the first question, and
 * followed from then on.
 */
export function openStepVotes({ log, signal, isVotedOn }: Options): StepVotes {
  const lanes = new Map<string, Map<string, TurnVotes>>();
  let following: (Pick<Following, 'done'> & { readonly reachEnd: () => Promise<boolean> }) | undefined;

  const follow = () => {
    const { caughtUp, reachEnd, done } = log.follow('turns', {}, ({ event }) => note(lanes, event), {
      signal,
      wants: ({ type, subject }) =>
        type === 'session.closed' ? lanes.has(subject) : voteTypes.has(type) && isVotedOn(subject),
    });
    caughtUp.catch(() => {}); // `done` reports the reason
    // the next question reads the topic again
    done.catch(() => {
      lanes.clear();
      following = undefined;
    });
    return { done, reachEnd: createReachEnd(() => Promise.all([caughtUp, reachEnd()])) };
  };
  return {
    of: async (lane) => {
      following ??= follow();
      await following.reachEnd();
      return (turnId, needs) => scoreOf(lanes.get(lane)?.get(turnId), needs);
    },
  };
}

function note(lanes: Map<string, Map<string, TurnVotes>>, event: ClawLoopEvent): void {
  if (event.type === 'session.closed') lanes.delete(event.subject);
  if (!isVote(event)) return;
  const { turnId } = event.data;
  const turns = lanes.get(event.subject) ?? new Map<string, TurnVotes>();
  lanes.set(event.subject, turns);
  const fresh = { byIndex: new Map(), failures: new Set<string>(), isSkipped: false, isExpired: false };
  const turn = turns.get(turnId) ?? fresh;
  turns.set(turnId, turn);
  if (event.type === 'turn.skipped') turn.isSkipped = true;
  else if (event.type === 'vote.expired') turn.isExpired = true;
  else if (event.type === 'vote.failed') turn.failures.add(event.id);
  else if (!isGivenUp(turn) && !turn.byIndex.has(event.data.index))
    turn.byIndex.set(event.data.index, event.data.vote);
}

type VoteEvent = Extract<
  ClawLoopEvent,
  { readonly type: 'turn.skipped' | 'vote.cast' | 'vote.expired' | 'vote.failed' }
>;
const isVote = (event: ClawLoopEvent): event is VoteEvent => voteTypes.has(event.type);

const isGivenUp = ({ isExpired, failures }: TurnVotes): boolean =>
  isExpired || failures.size >= MOST_FAILURES;

function scoreOf(turn: TurnVotes | undefined, needs: number): StepScore {
  if (turn === undefined) return { votes: 'pending', score: null };
  if (turn.isSkipped) return { votes: 'none', score: 0 };
  const cast = [...turn.byIndex].filter(([index]) => index < needs).map(([, vote]) => vote);
  if (cast.length < needs) return { votes: isGivenUp(turn) ? 'missing' : 'pending', score: null };
  const valid = cast.filter((vote) => vote !== null);
  return valid.length === 0 ? { votes: 'none', score: 0 } : { votes: 'complete', score: mean(valid) };
}

import type { SubjectView } from '../../shared/log/event-log.ts';
import type { Job } from '../../shared/queue/job-queue.ts';
import { type OpenTurn, takesVotes } from './judge-rows.ts';
import { openTurns, turnsOf, type VoteJob, votesOwedTo } from './owed-votes.ts';

/** A lane without a view for this long belongs to another process. ms; views arrive once a minute. */
const FORGET_AFTER_MS = 5 * 60_000;

type OwedTurn = {
  /** when this process first saw the turn */
  readonly since: number;
  /** a step of a rewarded session, which has a deadline of its own */
  readonly isStep: boolean;
  readonly owed: ReadonlyMap<string, Job<VoteJob>>;
};

type Lane = {
  seenAt: number;
  readonly partition: number;
  /** open turns that wait for votes */
  readonly turns: Map<string, OwedTurn>;
};

export type OpenVotes = ReturnType<typeof createOpenVotes>;

/**
 * The votes that the log owes, according to the views that it sends after each commit. In memory only: a restart
 * starts every deadline again, so neither an outage nor a clock change expires votes. `now` is monotonic, in ms.
 * With `sharedQueue` a job may come from another process, whose lanes this process does not see.
 */
export function createOpenVotes(now: () => number, sharedQueue = false) {
  const lanes = new Map<string, Lane>();
  /** ids of votes that are in the log but that the fold has not read yet */
  const cast = new Set<string>();
  const expired = new Set<string>();
  /** per partition: the offset that the fold has at least reached, as seen here */
  const seenTo = new Map<number, number>();

  function updateTurn(subject: string, lane: Lane, turnId: string, open: OpenTurn | undefined): void {
    const before = lane.turns.get(turnId);
    const owed = owedById(subject, turnId, open);
    for (const id of before?.owed.keys() ?? []) if (!owed.has(id)) cast.delete(id);
    if (open === undefined || !takesVotes(open) || (open.step !== undefined && owed.size === 0)) {
      lane.turns.delete(turnId);
      expired.delete(turnId);
      return;
    }
    lane.turns.set(turnId, { since: before?.since ?? now(), isStep: open.step !== undefined, owed });
    if (owed.size > 0) seenTo.set(lane.partition, Math.max(seenTo.get(lane.partition) ?? -1, open.at.offset));
  }

  /** Applies one view. Returns the turns that it may have changed; cost is linear in their number. */
  function update({ subject, partition, rows, changed }: SubjectView): readonly OwedTurn[] {
    const known = lanes.get(subject);
    const lane = known ?? { seenAt: 0, partition, turns: new Map<string, OwedTurn>() };
    const isWhole = known === undefined || changed === undefined;
    const turns = new Map(isWhole ? openTurns(rows) : turnsOf(rows, changed));
    const settled = isWhole ? [...lane.turns.keys()].filter((turnId) => !turns.has(turnId)) : [];
    for (const turnId of settled) updateTurn(subject, lane, turnId, undefined);
    for (const [turnId, turn] of turns) updateTurn(subject, lane, turnId, turn);
    lane.seenAt = now();
    if (lane.turns.size === 0) lanes.delete(subject);
    else lanes.set(subject, lane);
    return [...turns.keys()].flatMap((turnId) => lane.turns.get(turnId) ?? []);
  }

  function forgetStaleLanes(): void {
    for (const [subject, lane] of lanes) {
      if (now() - lane.seenAt < FORGET_AFTER_MS) continue;
      lanes.delete(subject);
      seenTo.delete(lane.partition);
      for (const id of votesIn([lane])) cast.delete(id);
      for (const turnId of lane.turns.keys()) expired.delete(turnId);
    }
  }

  return {
    /** Applies the views. Returns the votes that are still owed to the turns that they may have changed. */
    see: (views: readonly SubjectView[]): readonly Job<VoteJob>[] =>
      views
        .flatMap(update)
        .flatMap(({ owed }) => [...owed.values()])
        .filter(({ id }) => !cast.has(id)),
    isOwed: (job: Job<VoteJob>): boolean => isOwedIn(lanes, job) && !cast.has(job.id),
    /** Whether to cast a vote. Known up to `seenTo` even after a partition moves: settled stays settled. */
    mayBeOwed: (job: Job<VoteJob>): boolean => {
      if (cast.has(job.id)) return false;
      const { partition, offset } = job.data.at;
      const wasSeen = offset <= (seenTo.get(partition) ?? -1);
      return wasSeen || !sharedQueue ? isOwedIn(lanes, job) : true;
    },
    /** Marks a vote whose event is in the log. */
    markCast: (job: Job<VoteJob>): void => {
      if (isOwedIn(lanes, job)) cast.add(job.id);
    },
    /**
     * Turns that still lack votes this long after this process saw them, without those marked expired. ms
     *
     * @param stepMs for steps of rewarded sessions
     */
    overdue: (
      deadlineMs: number,
      stepMs = deadlineMs,
    ): readonly { readonly turnId: string; readonly lane: string }[] => {
      forgetStaleLanes();
      return turnsIn(lanes)
        .filter(
          ({ turnId, since, isStep }) =>
            now() - since >= (isStep ? stepMs : deadlineMs) && !expired.has(turnId),
        )
        .map(({ turnId, lane }) => ({ turnId, lane }));
    },
    markExpired: (turnId: string): void => void expired.add(turnId),
    /** Number of votes that are owed and not in the log yet. */
    votes: (): number => votesIn(lanes.values()).filter((id) => !cast.has(id)).length,
    turns: (): number => [...lanes.values()].reduce((sum, { turns }) => sum + turns.size, 0),
  };
}

const owedById = (lane: string, turnId: string, turn: OpenTurn | undefined): OwedTurn['owed'] =>
  new Map(turn === undefined ? [] : votesOwedTo(lane, turnId, turn).map((job) => [job.id, job]));

const isOwedIn = (lanes: ReadonlyMap<string, Lane>, { id, data }: Job<VoteJob>): boolean =>
  lanes.get(data.lane)?.turns.get(data.turnId)?.owed.has(id) ?? false;

const turnsIn = (lanes: ReadonlyMap<string, Lane>) =>
  [...lanes].flatMap(([lane, { turns }]) =>
    [...turns].map(([turnId, { since, isStep }]) => ({ turnId, lane, since, isStep })),
  );

const votesIn = (lanes: Iterable<Lane>): readonly string[] =>
  [...lanes].flatMap(({ turns }) => [...turns.values()].flatMap(({ owed }) => [...owed.keys()]));

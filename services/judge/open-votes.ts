import type { SubjectView } from '../../shared/log/event-log.ts';
import type { Job } from '../../shared/queue/job-queue.ts';
import type { OpenTurn } from './judge-rows.ts';
import { openTurns, turnsOf, type VoteJob, votesOwedTo } from './owed-votes.ts';

/**
 * A lane that no view has confirmed for this long belongs to another process by now. ms; views come once a
 * minute.
 */
const FORGET_AFTER_MS = 5 * 60_000;

type Turn = {
  /** when this process saw it first */
  readonly since: number;
  readonly owed: ReadonlyMap<string, Job<VoteJob>>;
};

type Lane = {
  seenAt: number;
  readonly partition: number;
  /** open turns that wait for votes */
  readonly turns: Map<string, Turn>;
};

export type OpenVotes = ReturnType<typeof createOpenVotes>;

/**
 * What is owed, as the views that the log hands out after its commits show it. In memory only: a restart
 * begins every span again, so that an outage or a clock that jumps ends nothing. `now` is monotonic, ms. With
 * `sharedQueue` a job may come from another process, whose lanes are not seen here.
 */
export function createOpenVotes(now: () => number, sharedQueue = false) {
  const lanes = new Map<string, Lane>();
  /** in the log, though the fold has not come to them yet */
  const cast = new Set<string>();
  const expired = new Set<string>();
  /** per partition: the fold, as it was seen here, has come at least this far */
  const seenTo = new Map<number, number>();

  function updateTurn(subject: string, lane: Lane, turnId: string, open: OpenTurn | undefined): void {
    const before = lane.turns.get(turnId);
    const owed = new Map(
      open === undefined ? [] : votesOwedTo(subject, turnId, open).map((job) => [job.id, job]),
    );
    for (const id of before?.owed.keys() ?? []) if (!owed.has(id)) cast.delete(id);
    if (open?.settle !== 'votes') {
      lane.turns.delete(turnId);
      expired.delete(turnId);
      return;
    }
    lane.turns.set(turnId, { since: before?.since ?? now(), owed });
    if (owed.size > 0) seenTo.set(lane.partition, Math.max(seenTo.get(lane.partition) ?? -1, open.at.offset));
  }

  /** Takes one view in; the turns that it may have changed. Costs as much as there are such turns. */
  function update({ subject, partition, rows, changed }: SubjectView): readonly Turn[] {
    const known = lanes.get(subject);
    const lane = known ?? { seenAt: 0, partition, turns: new Map<string, Turn>() };
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

  function forgetOthers(): void {
    for (const [subject, { seenAt, partition, turns }] of lanes) {
      if (now() - seenAt < FORGET_AFTER_MS) continue;
      lanes.delete(subject);
      seenTo.delete(partition);
      for (const [turnId, { owed }] of turns) {
        for (const id of owed.keys()) cast.delete(id);
        expired.delete(turnId);
      }
    }
  }

  const isOwedHere = ({ id, data }: Job<VoteJob>): boolean =>
    lanes.get(data.lane)?.turns.get(data.turnId)?.owed.has(id) ?? false;

  return {
    /** Takes the views in; the votes that are still to be cast of the turns that these may have changed. */
    see: (views: readonly SubjectView[]): readonly Job<VoteJob>[] =>
      views
        .flatMap(update)
        .flatMap(({ owed }) => [...owed.values()])
        .filter(({ id }) => !cast.has(id)),
    isOwed: (job: Job<VoteJob>): boolean => isOwedHere(job) && !cast.has(job.id),
    /**
     * Whether a vote is worth casting. What is settled stays so: of a turn that was seen here, also what was
     * seen before its partition went to another process tells; of a later one nothing is known here.
     */
    mayBeOwed: (job: Job<VoteJob>): boolean => {
      if (cast.has(job.id)) return false;
      const { partition, offset } = job.data.at;
      const wasSeen = offset <= (seenTo.get(partition) ?? -1);
      return wasSeen || !sharedQueue ? isOwedHere(job) : true;
    },
    /** Its fact is in the log, and will be seen here if the lane is held here. */
    markCast: (job: Job<VoteJob>): void => {
      if (isOwedHere(job)) cast.add(job.id);
    },
    /**
     * Turns whose votes are not all in `deadlineMs` after this process saw them, and that were not told so
     * yet.
     */
    overdue: (deadlineMs: number): readonly { readonly turnId: string; readonly lane: string }[] => {
      forgetOthers();
      return [...lanes].flatMap(([lane, { turns }]) =>
        [...turns]
          .filter(([turnId, { since }]) => now() - since >= deadlineMs && !expired.has(turnId))
          .map(([turnId]) => ({ turnId, lane })),
      );
    },
    markExpired: (turnId: string): void => void expired.add(turnId),
    /** Owed, and not in the log yet. */
    votes: (): number => {
      let votes = 0;
      for (const { turns } of lanes.values())
        for (const { owed } of turns.values()) for (const id of owed.keys()) if (!cast.has(id)) votes += 1;
      return votes;
    },
    turns: (): number => [...lanes.values()].reduce((sum, { turns }) => sum + turns.size, 0),
  };
}

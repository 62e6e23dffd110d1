import type { SubjectView } from '../../shared/log/event-log.ts';
import type { Job } from '../../shared/queue/job-queue.ts';
import { openTurns, owedVotes, type VoteJob } from './judge-fold.ts';

/**
 * A lane that no view has confirmed for this long belongs to another process by now. ms; views come once a
 * minute.
 */
const FORGET_AFTER_MS = 5 * 60_000;

type Lane = {
  readonly seenAt: number;
  readonly partition: number;
  /** open turns that wait for votes: when this process saw them first */
  readonly since: ReadonlyMap<string, number>;
  readonly owed: ReadonlyMap<string, Job<VoteJob>>;
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

  function update({ subject, partition, rows }: SubjectView): void {
    const before = lanes.get(subject);
    const waiting = [...openTurns(rows)].filter(([, turn]) => turn.settle === 'votes');
    const since = new Map(waiting.map(([turnId]) => [turnId, before?.since.get(turnId) ?? now()]));
    const owed = new Map(owedVotes(subject, rows).map((job) => [job.id, job]));
    for (const id of before?.owed.keys() ?? []) if (!owed.has(id)) cast.delete(id);
    for (const turnId of before?.since.keys() ?? []) if (!since.has(turnId)) expired.delete(turnId);
    if (since.size === 0) lanes.delete(subject);
    else lanes.set(subject, { seenAt: now(), partition, since, owed });
    for (const { data } of owed.values())
      seenTo.set(partition, Math.max(seenTo.get(partition) ?? -1, data.at.offset));
  }

  function forgetOthers(): void {
    for (const [subject, { seenAt, partition, since, owed }] of lanes) {
      if (now() - seenAt < FORGET_AFTER_MS) continue;
      lanes.delete(subject);
      seenTo.delete(partition);
      for (const id of owed.keys()) cast.delete(id);
      for (const turnId of since.keys()) expired.delete(turnId);
    }
  }

  return {
    /** Takes the views in; the votes of these lanes that are still to be cast. */
    see: (views: readonly SubjectView[]): readonly Job<VoteJob>[] => {
      for (const view of views) update(view);
      return views.flatMap(({ subject }) =>
        [...(lanes.get(subject)?.owed.values() ?? [])].filter(({ id }) => !cast.has(id)),
      );
    },
    isOwed: ({ id, data }: Job<VoteJob>): boolean =>
      (lanes.get(data.lane)?.owed.has(id) ?? false) && !cast.has(id),
    /**
     * Whether a vote is worth casting. What is settled stays so: of a turn that was seen here, also what was
     * seen before its partition went to another process tells; of a later one nothing is known here.
     */
    mayBeOwed: ({ id, data }: Job<VoteJob>): boolean => {
      if (cast.has(id)) return false;
      const wasSeen = data.at.offset <= (seenTo.get(data.at.partition) ?? -1);
      return wasSeen || !sharedQueue ? (lanes.get(data.lane)?.owed.has(id) ?? false) : true;
    },
    /** Its fact is in the log, and will be seen here if the lane is held here. */
    markCast: ({ id, data }: Job<VoteJob>): void => {
      if (lanes.get(data.lane)?.owed.has(id)) cast.add(id);
    },
    /**
     * Turns whose votes are not all in `deadlineMs` after this process saw them, and that were not told so
     * yet.
     */
    overdue: (deadlineMs: number): readonly { readonly turnId: string; readonly lane: string }[] => {
      forgetOthers();
      return [...lanes].flatMap(([lane, { since }]) =>
        [...since]
          .filter(([turnId, from]) => now() - from >= deadlineMs && !expired.has(turnId))
          .map(([turnId]) => ({ turnId, lane })),
      );
    },
    markExpired: (turnId: string): void => void expired.add(turnId),
    /** Owed, and not in the log yet. */
    votes: (): number =>
      [...lanes.values()].reduce(
        (sum, { owed }) => sum + [...owed.keys()].filter((id) => !cast.has(id)).length,
        0,
      ),
    turns: (): number => [...lanes.values()].reduce((sum, { since }) => sum + since.size, 0),
  };
}

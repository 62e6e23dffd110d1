import type { Rows } from '../../../shared/log/rows.ts';
import type { Job } from '../../../shared/queue/job-queue.ts';
import { openTurns, type VoteJob, votesOwedTo } from '../owed-votes.ts';

/** The votes that one lane is owed. */
export const owedVotes = (lane: string, rows: Rows): readonly Job<VoteJob>[] =>
  [...openTurns(rows)].flatMap(([turnId, turn]) => votesOwedTo(lane, turnId, turn));

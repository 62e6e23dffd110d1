import { VoteExpired } from '../../shared/events/vote-expired.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { utcNow } from '../../shared/runtime/clock.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import type { JudgeMetrics } from './metrics.ts';
import type { OpenVotes } from './open-votes.ts';

type SweepDeps = {
  readonly log: Pick<EventLog, 'append'>;
  readonly open: OpenVotes;
  readonly metrics: JudgeMetrics;
  readonly logger: Logger;
  readonly deadlineMs: number;
  /** for votes on steps of rewarded sessions */
  readonly stepDeadlineMs: number;
};

/** Appends an expiry event for each overdue turn. If that fails, the next call appends them. */
export async function expireVotes({
  log,
  open,
  metrics,
  logger,
  deadlineMs,
  stepDeadlineMs,
}: SweepDeps): Promise<void> {
  const overdue = open.overdue(deadlineMs, stepDeadlineMs);
  if (overdue.length === 0) return;
  const time = utcNow();
  await log.append(
    overdue.map((turn) =>
      VoteExpired.create({ id: `${turn.turnId}/expired`, source: 'clawloop/judge', time, data: turn }),
    ),
  );
  for (const { turnId } of overdue) open.markExpired(turnId);
  metrics.expired.inc(overdue.length);
  logger.warn(
    { turns: overdue.map(({ turnId }) => turnId) },
    'votes missed their deadline; the turns settle without them',
  );
}

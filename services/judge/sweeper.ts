import { setInterval } from 'node:timers/promises';
import { VoteExpired } from '../../shared/events/vote-expired.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { utcNow } from '../../shared/service/clock.ts';
import type { Logger } from '../../shared/service/logger.ts';
import type { JudgeMetrics } from './metrics.ts';
import type { OpenVotes } from './open-votes.ts';

export type SweepWorld = {
  readonly log: Pick<EventLog, 'append'>;
  readonly open: OpenVotes;
  readonly metrics: JudgeMetrics;
  readonly logger: Logger;
  readonly deadlineMs: number;
};

/**
 * A timer is a fact too: says which turns have waited too long. What it could not say it says the next time.
 */
export async function expireVotes({ log, open, metrics, logger, deadlineMs }: SweepWorld): Promise<void> {
  const overdue = open.overdue(deadlineMs);
  if (overdue.length === 0) return;
  const time = utcNow();
  await log.append(
    overdue.map((turn) =>
      VoteExpired.create({ id: `${turn.turnId}/expired`, source: 'clawloop/judge', time, data: turn }),
    ),
  );
  for (const { turnId } of overdue) open.markExpired(turnId);
  metrics.expired.inc(overdue.length);
  logger.warn({ turns: overdue.map(({ turnId }) => turnId) }, 'the deadline of votes has passed');
}

/** Does something every `ms` until the signal aborts; a failure is logged and the next one comes. */
export async function every(
  ms: number,
  task: () => Promise<unknown>,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const _ of setInterval(ms, undefined, { signal })) {
      await task().catch((error: unknown) => logger.warn({ err: error }, 'will be tried again'));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { withDeadline } from '../../../shared/lang/async.ts';
import { isLogError } from '../../../shared/log/errors.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { createWaitNotice } from '../../../shared/runtime/wait-notice.ts';
import type { Outbox } from './outbox.ts';

export type Recorder = {
  /**
   * True: the event is durable, in the log or in the outbox; false: neither could store it. Never throws.
   */
  readonly record: (event: ClawLoopEvent) => Promise<boolean>;
  readonly outboxDepth: () => number;
  /** Tries once to empty the outbox. */
  readonly drain: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/** Half is left then, so there is time to act. */
const WARNED_FULLNESS = 0.5;

type Options = {
  readonly log: Pick<EventLog, 'append'>;
  readonly outbox: Outbox;
  readonly appendTimeoutMs: number;
  readonly drainIntervalMs: number;
  readonly logger: Logger;
  readonly onOutcome?: (outcome: 'log' | 'outbox' | 'lost') => void;
};

/**
 * Makes events durable. While the outbox is not empty, new events go to the outbox too, so that the log gets the events
 * of a lane in order, and no answer waits for a log that is unavailable.
 */
export function createRecorder({
  log,
  outbox,
  appendTimeoutMs,
  drainIntervalMs,
  logger,
  onOutcome,
}: Options): Recorder {
  const sender = createSender(log, appendTimeoutMs);
  const wait = createWaitNotice({
    away: (reason, seconds) =>
      logger.warn(
        { reason, seconds, depth: outbox.depth(), percentFull: Math.round(outbox.fullness() * 100) },
        'log unavailable; events wait in the outbox',
      ),
    back: (seconds) => logger.info({ seconds }, 'log available again'),
  });
  const filling = createWaitNotice({
    away: (reason) => logger.warn({ reason }, 'the outbox fills: when it is full, answers are not recorded'),
    back: () => undefined,
  });
  let draining: Promise<void> | undefined;
  const drainOnce = async (): Promise<void> => {
    try {
      const drained = await outbox.drain(sender.append, (path) =>
        logger.error({ path }, 'set an event aside: it is unreadable, or too large for the log'),
      );
      if (drained > 0) logger.info({ drained }, 'outbox drained to the log');
      if (drained > 0) wait.back();
      if (drained > 0) filling.back();
      sender.forgetLateArrivals();
    } catch (error) {
      wait.away((error as Error).message);
    }
  };
  const drain = (): Promise<void> => {
    draining ??= drainOnce().finally(() => {
      draining = undefined;
    });
    return draining;
  };
  const timer = setInterval(() => void drain(), drainIntervalMs);
  timer.unref();
  const lose = (event: ClawLoopEvent, error: unknown): 'lost' => {
    logger.error(
      { err: error, id: event.id, type: event.type },
      'event lost: neither log nor outbox could store it',
    );
    return 'lost';
  };
  const record = async (event: ClawLoopEvent): Promise<'log' | 'outbox' | 'lost'> => {
    if (outbox.depth() === 0 && outbox.look() === 0) {
      try {
        await sender.append(event);
        return 'log';
      } catch (error) {
        // It would block the outbox forever.
        if (isLogError(error, 'RecordTooLarge')) return lose(event, error);
        logger.warn({ err: error, id: event.id }, 'could not append to the log; using the outbox');
      }
    }
    try {
      await outbox.put(event);
      const full = outbox.fullness();
      if (full >= WARNED_FULLNESS) filling.away(`${Math.round(full * 100)} % full`);
      return 'outbox';
    } catch (error) {
      return lose(event, error);
    }
  };
  return {
    record: async (event) => {
      const outcome = await record(event);
      onOutcome?.(outcome);
      return outcome !== 'lost';
    },
    outboxDepth: outbox.depth,
    drain,
    close: async () => {
      clearInterval(timer);
      await draining;
      await drain();
    },
  };
}

/** Appends single events to the log with a timeout. */
function createSender(log: Pick<EventLog, 'append'>, timeoutMs: number) {
  const underway = new Map<string, Promise<void>>();
  /** Ids of events that reached the log after their timeout; they are in the outbox too. */
  const lateArrivals = new Set<string>();
  /** Does not send an event again that is in flight or already in the log. */
  const send = (event: ClawLoopEvent): Promise<void> => {
    if (lateArrivals.has(event.id)) return Promise.resolve();
    const inFlight = underway.get(event.id);
    if (inFlight !== undefined) return inFlight;
    const sent = log.append([event]).finally(() => underway.delete(event.id));
    sent.then(
      () => lateArrivals.add(event.id),
      () => undefined, // callers receive the error
    );
    underway.set(event.id, sent);
    return sent;
  };
  return {
    append: async (event: ClawLoopEvent): Promise<void> => {
      await withDeadline(send(event), timeoutMs, () => {
        throw new Error(`the log did not respond within ${timeoutMs} ms`);
      });
      lateArrivals.delete(event.id);
    },
    forgetLateArrivals: (): void => lateArrivals.clear(),
  };
}

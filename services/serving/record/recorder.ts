import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { isLogError } from '../../../shared/log/errors.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import type { Logger } from '../../../shared/service/logger.ts';
import { createWaitNotice } from '../../../shared/service/wait-notice.ts';
import type { Outbox } from './outbox.ts';

export type Recorder = {
  /**
   * True when the fact is durable, in the log or in the outbox; false when neither could take it. Never
   * throws.
   */
  readonly record: (event: ClawLoopEvent) => Promise<boolean>;
  readonly outboxDepth: () => number;
  /** Tries to empty the outbox once. */
  readonly drain: () => Promise<void>;
  readonly close: () => Promise<void>;
};

type Options = {
  readonly log: Pick<EventLog, 'append'>;
  readonly outbox: Outbox;
  readonly appendTimeoutMs: number;
  readonly drainIntervalMs: number;
  readonly logger: Logger;
  readonly onOutcome?: (outcome: 'log' | 'outbox' | 'lost') => void;
};

/**
 * Makes facts durable. While the outbox holds something, new facts queue up behind it, so that the log
 * gets the facts of a lane in their order, and no answer waits for a log that is known to be away.
 */
export function createRecorder({
  log,
  outbox,
  appendTimeoutMs,
  drainIntervalMs,
  logger,
  onOutcome,
}: Options): Recorder {
  const underway = new Map<string, Promise<void>>();
  /** In the log though they were given up here: the outbox holds them too. */
  const landed = new Set<string>();
  /** A fact that is on its way, or has come through meanwhile, is not sent once more. */
  const send = (event: ClawLoopEvent): Promise<void> => {
    if (landed.has(event.id)) return Promise.resolve();
    const before = underway.get(event.id);
    if (before !== undefined) return before;
    const sent = log.append([event]).finally(() => underway.delete(event.id));
    sent.then(
      () => landed.add(event.id),
      () => undefined, // told to whoever waits
    );
    underway.set(event.id, sent);
    return sent;
  };
  const append = async (event: ClawLoopEvent): Promise<void> => {
    const appended = send(event);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`no answer from the log in ${appendTimeoutMs} ms`)),
        appendTimeoutMs,
      );
    });
    await Promise.race([appended, late]).finally(() => clearTimeout(timer));
    landed.delete(event.id);
  };
  const wait = createWaitNotice({
    away: (reason, seconds) =>
      logger.warn({ reason, seconds, depth: outbox.depth() }, 'the outbox waits for the log'),
    back: (seconds) => logger.info({ seconds }, 'the log takes facts again'),
  });
  let draining: Promise<void> | undefined;
  const drainOnce = async (): Promise<void> => {
    try {
      const drained = await outbox.drain(append, (path) =>
        logger.error({ path }, 'a fact was set aside: it cannot be read, or is too large for the log'),
      );
      if (drained > 0) logger.info({ drained }, 'the outbox is empty again');
      if (drained > 0) wait.back();
      landed.clear();
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
      'a fact is lost: neither log nor outbox took it',
    );
    return 'lost';
  };
  const record = async (event: ClawLoopEvent): Promise<'log' | 'outbox' | 'lost'> => {
    if (outbox.depth() === 0 && outbox.look() === 0) {
      try {
        await append(event);
        return 'log';
      } catch (error) {
        // It would stand in the outbox's way for good.
        if (isLogError(error, 'RecordTooLarge')) return lose(event, error);
        logger.warn({ err: error, id: event.id }, 'the log does not take facts');
      }
    }
    try {
      await outbox.put(event);
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

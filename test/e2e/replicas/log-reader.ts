import { loadConfig } from '../../../shared/config/common.ts';
import { LogConfig } from '../../../shared/config/log.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { Topic } from '../../../shared/events/define-event.ts';
import type { Recorded } from '../../../shared/log/event-log.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { openLog } from '../../../shared/runtime/open-log.ts';
import { until } from '../harness/clawloop.ts';

type Found<Type extends ClawLoopEvent['type']> = Extract<ClawLoopEvent, { type: Type }>;

/** All events of the log, as they arrive. */
export type LogReader = {
  readonly records: (topic: Topic) => readonly Recorded[];
  readonly of: <Type extends ClawLoopEvent['type']>(type: Type) => readonly Found<Type>[];
  /** Waits for the first event of this type that fits. */
  readonly first: <Type extends ClawLoopEvent['type']>(
    what: string,
    type: Type,
    fits: (data: Found<Type>['data']) => boolean,
    limitMs?: number,
  ) => Promise<Found<Type>>;
  readonly reachEnd: () => Promise<void>;
  /** Resolves when all words are judged, no step runs and the folds have read everything. */
  readonly quiet: () => Promise<void>;
  readonly close: () => Promise<void>;
};

const topics = ['conversations', 'turns', 'training'] as const;

/** Follows the log that the environment variables name. */
export async function openLogReader(folder: string): Promise<LogReader> {
  const log = await openLog(loadConfig('cli', LogConfig, []).values, dataFolder(folder));
  const stop = new AbortController();
  const records: Readonly<Record<string, Recorded[]>> = Object.fromEntries(
    topics.map((topic) => [topic, []]),
  );
  const following = topics.map((topic) =>
    log.follow(topic, {}, (record) => void records[topic]!.push(record), { signal: stop.signal }),
  );
  const of = <Type extends ClawLoopEvent['type']>(type: Type) =>
    topics
      .flatMap((topic) => records[topic]!.map(({ event }) => event))
      .filter((event): event is Found<Type> => event.type === type);
  const reachEnd = async () => {
    await Promise.all(following.map((one) => one.reachEnd()));
  };
  const isQuiet = async (): Promise<boolean> => {
    const lags = await Promise.all(
      ['attribute', 'judge', 'assemble', 'submit'].map((group) => log.lag(group)),
    );
    if (lags.flat().some(({ position, end }) => position < end)) return false;
    await reachEnd();
    const judged = new Set(of('judgment.reached').map(({ data }) => data.turnId));
    const ended = new Set(
      [...of('policy.promoted'), ...of('policy.rejected'), ...of('policy.update-failed')].map(
        ({ data }) => data.batchId,
      ),
    );
    return (
      of('turn.completed').every(({ data }) => judged.has(data.turnId)) &&
      of('batch.submitted').every(({ data }) => ended.has(data.batchId))
    );
  };
  return {
    records: (topic) => records[topic] ?? [],
    of,
    first: async (what, type, fits, limitMs) =>
      until(what, () => of(type).find(({ data }) => (fits as (data: unknown) => boolean)(data)), limitMs),
    reachEnd,
    quiet: async () => void (await until('the loop is quiet', isQuiet, 120_000)),
    close: async () => {
      stop.abort();
      await Promise.allSettled(following.map(({ done }) => done));
      await log.close();
    },
  };
}

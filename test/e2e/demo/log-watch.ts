import { loadConfig } from '../../../shared/config/common.ts';
import { LogConfig } from '../../../shared/config/log.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { openLog } from '../../../shared/runtime/open-log.ts';
import { until } from '../harness/clawloop.ts';

/** A span of the run, ms since its start. */
export type Span = { readonly from: number; readonly to: number };

/** The demo's view of the log while it runs: the served version, running steps, and unsettled turns. */
export async function watchLog(
  folder: string,
  startedAt: number,
  onEvent: (event: ClawLoopEvent) => void = () => {},
) {
  const log = await openLog(loadConfig('cli', LogConfig, []).values, dataFolder(folder));
  const stop = new AbortController();
  const now = () => performance.now() - startedAt;
  const loaded: number[] = [];
  const completed = new Set<string>();
  const judged = new Set<string>();
  const settledSamples = new Set<string>();
  const ready = new Set<string>();
  const steps: Span[] = [];
  const swaps: number[] = [];
  let head = 0;
  let openSince: number | undefined;
  let batchSize = Number.POSITIVE_INFINITY;
  const turns = log.follow(
    'turns',
    {},
    ({ event }) => {
      onEvent(event);
      if (event.type === 'turn.completed') completed.add(event.data.turnId);
      if (event.type === 'judgment.reached') judged.add(event.data.turnId);
    },
    { signal: stop.signal },
  );
  const training = log.follow(
    'training',
    {},
    ({ event }) => {
      onEvent(event);
      if (event.type === 'sample.ready') ready.add(event.data.sampleId);
      if (event.type === 'sample.dropped') settledSamples.add(event.data.sampleId);
      if (event.type === 'batch.submitted') {
        openSince = now();
        batchSize = event.data.size;
        for (const { sampleId } of event.data.samples) settledSamples.add(sampleId);
      }
      if (event.type === 'policy.promoted') head = event.data.to;
      if (['policy.promoted', 'policy.rejected', 'policy.update-failed'].includes(event.type)) {
        if (openSince !== undefined) steps.push({ from: openSince, to: now() });
        openSince = undefined;
      }
      if (event.type === 'policy.loaded' && event.data.version > 0) {
        loaded.push(event.data.version);
        swaps.push(now());
      }
    },
    { signal: stop.signal },
  );
  const served = () => loaded.at(-1) ?? 0;
  const quiet = () =>
    [...completed].every((turn) => judged.has(turn)) &&
    openSince === undefined &&
    served() === head &&
    ready.size - settledSamples.size < batchSize;
  return {
    served,
    loadedVersions: (): readonly number[] => loaded,
    steps: (): readonly Span[] => steps,
    swaps: (): readonly number[] => swaps,
    /** Resolves when all words are judged, no step runs and the head is served; a person pauses longer than that. */
    settle: async (): Promise<void> => {
      await until(
        'the loop is quiet',
        async () => {
          // a collector that was killed has not yet read the words of the meantime
          const unread = (await log.lag('attribute')).some(({ position, end }) => position < end);
          if (unread) return false;
          await Promise.all([turns.reachEnd(), training.reachEnd()]);
          return quiet();
        },
        5 * 60_000,
      );
    },
    close: async (): Promise<void> => {
      stop.abort();
      await Promise.allSettled([turns.done, training.done]);
      await log.close();
    },
  };
}
export type LogWatch = Awaited<ReturnType<typeof watchLog>>;

import type { FastifyInstance } from 'fastify';
import { outcomeOf, verdictOf } from '../model/find-turns.ts';
import type { ConsoleDeps } from './console-deps.ts';
import type { AdapterState, Overview } from './shapes.ts';

/** What every page shows: adapters, warnings, and how far the first run has come. */
export function registerOverview(server: FastifyInstance, overview: () => Promise<Overview>): void {
  server.get('/api/overview', overview);
}

type Counts = {
  readonly waiting: ReadonlyMap<string, number>;
  readonly firstRun: Overview['firstRun'];
};

export function createOverview({
  config,
  log,
  model,
  reader,
  keys,
  cached,
  logAway,
  trimmed,
}: ConsoleDeps): () => Promise<Overview> {
  const { turns: table, decisions } = model;
  const counts = (): Counts => {
    const waiting = new Map<string, number>();
    let [chatted, reacted, judged] = [false, false, false];
    for (const row of table.inTime()) {
      const view = table.view(row.id);
      if (!view.live) continue;
      chatted = true;
      reacted ||= row.reactionAt !== undefined || view.source === 'feedback';
      judged ||= verdictOf(view) !== undefined && outcomeOf(view) !== undefined;
      if (view.stage.kind === 'waiting-for-batch')
        waiting.set(view.adapter, (waiting.get(view.adapter) ?? 0) + 1);
    }
    const learned = adapterNames().some((name) =>
      decisions
        .of(name)
        .state()
        .wasServed.some((version) => version > 0),
    );
    return { waiting, firstRun: { chatted, reacted, judged, learned } };
  };
  /** Those of the settings first, in their order. */
  const adapterNames = (): readonly string[] => [...new Set([...config.adapters, ...decisions.names()])];
  const adapterState = (name: string, { waiting }: Counts): AdapterState => {
    const { head, served, isPaused, training } = decisions.of(name).state();
    return {
      name,
      head,
      served: served ?? null,
      isPaused,
      training: training ?? null,
      waiting: waiting.get(name) ?? 0,
    };
  };
  return async () => {
    const counted = cached('counts', counts);
    return {
      logId: log.logId,
      model: config.model,
      clientUrl: (config.publicUrl ?? config.servingUrl).replace(/\/+$/, ''),
      needsKey: await keys.needsKey().catch(() => true),
      progress: reader.progress(),
      logAway: logAway(),
      trimmed: trimmed(),
      stopped: reader.stopped(),
      turns: table.size(),
      adapters: adapterNames().map((name) => adapterState(name, counted)),
      cautions: cached('cautions', model.cautions),
      firstRun: counted.firstRun,
    };
  };
}

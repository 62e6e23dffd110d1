import type { FastifyInstance } from 'fastify';
import { folderFlag } from '../../../shared/runtime/data-folder.ts';
import { type Reached, whatWasReached } from '../model/facets.ts';
import type { ConsoleDeps } from './console-deps.ts';
import type { AdapterState, Overview } from './shapes.ts';

/** What every page shows: adapters, warnings, and how far the first run has come. */
export function registerOverview(server: FastifyInstance, overview: () => Promise<Overview>): void {
  server.get('/api/overview', overview);
}

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
  const { turns, decisions } = model;
  const hasLearned = (): boolean =>
    adapterNames().some((name) =>
      decisions
        .of(name)
        .state()
        .wasServed.some((version) => version > 0),
    );
  /** Those of the settings first, in their order. */
  const adapterNames = (): readonly string[] => [...new Set([...config.adapters, ...decisions.names()])];
  const adapterState = (name: string, { waiting }: Reached): AdapterState => {
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
    const reached = cached('reached', () => whatWasReached(turns));
    const { chatted, reacted, judged } = reached;
    const learned = cached('learned', hasLearned);
    return {
      logId: log.logId,
      model: config.model,
      clientUrl: (config.publicUrl ?? config.servingUrl).replace(/\/+$/, ''),
      folderFlag: folderFlag(config.dataFolder),
      needsKey: await keys.needsKey().catch(() => true),
      progress: reader.progress(),
      logAway: logAway(),
      trimmed: trimmed(),
      stopped: reader.stopped(),
      turns: cached('turns', turns.size),
      adapters: adapterNames().map((name) => adapterState(name, reached)),
      cautions: cached('cautions', model.cautions),
      firstRun: { chatted, reacted, judged, learned },
    };
  };
}

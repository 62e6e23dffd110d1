import type { FastifyInstance } from 'fastify';
import { learningView } from '../model/learning.ts';
import type { ConsoleDeps } from './console-deps.ts';
import { adapterQuery, readQuery, versionsQuery } from './read-query.ts';
import type { Learning, Versions } from './shapes.ts';

/** Decisions per answer; the log has all. */
const DECISIONS = 200;

/** Whether it is learning, and the versions. */
export function registerLearning(server: FastifyInstance, { config, model, cached }: ConsoleDeps): void {
  const learning = (adapter: string) =>
    cached(`learning ${adapter}`, () => learningView(model.turns, adapter));

  server.get('/api/learning', async (request): Promise<Learning> => {
    const adapter = readQuery(adapterQuery, request).adapter ?? config.adapters[0]!;
    return { adapter, ...learning(adapter), setAside: model.wishesSetAside() };
  });

  server.get('/api/versions', async (request): Promise<Versions> => {
    const { adapter = config.adapters[0]!, latest } = readQuery(versionsQuery, request);
    const decisions = model.decisions.of(adapter);
    const { head, isPaused, served, training, wasServed } = decisions.state();
    const versions = decisions.versions();
    const shown = versions.slice(-latest);
    const numbers = new Set([0, ...shown.map(({ version }) => version)]);
    return {
      adapter,
      head,
      isPaused,
      versions: shown,
      total: versions.length,
      wasServed: wasServed.filter((version) => numbers.has(version)),
      served: served ?? null,
      training: training ?? null,
      decisions: decisions.latest(DECISIONS),
      verdicts: learning(adapter).versions.filter(({ version }) => numbers.has(version)),
    };
  });

  server.get<{ Params: { version: string } }>('/api/versions/:version/turns', async (request) => {
    const adapter = readQuery(adapterQuery, request).adapter ?? config.adapters[0]!;
    const n = Number(request.params.version);
    const batch = [...model.turns.batches()].find((row) => row.adapter === adapter && row.n === n);
    return {
      turns: (batch?.turns ?? []).flatMap((id) => {
        const row = model.turns.row(id);
        if (row === undefined) return [];
        const { asked, reaction, score } = model.turns.view(id);
        return [{ id, asked, reaction, score: score ?? null, hints: row.hints }];
      }),
    };
  });
}

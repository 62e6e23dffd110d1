import type { FastifyInstance } from 'fastify';
import { learningView } from '../model/learning.ts';
import { type ConsoleDeps, readable } from './console-deps.ts';
import { adapterQuery, readQuery, versionsQuery } from './read-query.ts';
import type { Learning, Versions } from './shapes.ts';

/** Decisions per answer; the log has all. */
const DECISIONS = 200;

/** Whether it is learning, and the versions. */
export function registerLearning(
  server: FastifyInstance,
  { config, model, cached, texts, logAway }: ConsoleDeps,
): void {
  const learning = (adapter: string) =>
    cached(`learning ${adapter}`, () => learningView(model.turns, adapter));

  const shown = readable(texts, logAway);

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
    const batch = Number.isSafeInteger(n) ? model.turns.batchOf(adapter, n) : undefined;
    const found = (batch?.turns ?? []).map(model.turns.turn).filter((turn) => turn !== undefined);
    const turns = found.map(async ({ row, view }) => {
      const { asked, reaction, hints } = await shown(row);
      return { id: row.id, asked, reaction, score: view.score ?? null, hints };
    });
    return { turns: await Promise.all(turns) };
  });
}

import type { FastifyInstance } from 'fastify';
import { evidenceOfWorse } from '../../../shared/lineage/evidence.ts';
import { canaryEvidence } from '../../../shared/lineage/watched-versions.ts';
import { createCheckSettings } from '../check-settings.ts';
import type { Decision, ShownVersion } from '../model/decisions.ts';
import type { RunningCanary } from '../model/version-watch.ts';
import type { ConsoleDeps } from './console-deps.ts';
import { adapterQuery, readQuery } from './read-query.ts';
import type { VersionChecks } from './shapes.ts';

/** Decisions and versions per answer. */
const MOST = 30;

/** Canary, watch and gate: how bad versions are stopped, with the numbers so far. */
export function registerVersionChecks(server: FastifyInstance, deps: ConsoleDeps): void {
  const { config, log, cached, logAway } = deps;
  const settingsOf = createCheckSettings(log, () => logAway() !== null);

  server.get('/api/version-checks', async (request): Promise<VersionChecks> => {
    const adapter = readQuery(adapterQuery, request).adapter ?? config.adapters[0]!;
    const partition = cached(`partition ${adapter}`, () => partitionOf(deps, adapter));
    const settings = partition === undefined ? null : await settingsOf(partition);
    return cached(`version checks ${adapter}`, () => versionChecks(deps, adapter, settings));
  });
}

/** Of `training`; undefined: nothing was written about the adapter. */
const partitionOf = ({ model }: ConsoleDeps, adapter: string): number | undefined =>
  model.decisions.of(adapter).latest(1)[0]?.place.partition;

function versionChecks(
  deps: ConsoleDeps,
  adapter: string,
  settings: VersionChecks['settings'],
): VersionChecks {
  const { state, versions, latest, watch } = deps.model.decisions.of(adapter);
  const running = watch.canary();
  return {
    adapter,
    head: state().head,
    settings,
    canary: running === undefined ? null : canaryItem(deps, running, settings?.canary?.margin ?? 0),
    watched: watch.watched().map((version) => ({
      ...version,
      evidence: evidenceOfWorse({ ...version, margin: settings?.watch?.margin ?? 0 }),
    })),
    decisions: latest(MOST, hasNumbers),
    gate: versions()
      .filter(({ metrics }) => Object.keys(metrics).length > 0)
      .slice(-MOST)
      .reverse()
      .map(gateItem),
  };
}

const hasNumbers = ({ type, data }: Pick<Decision, 'type' | 'data'>): boolean =>
  data.figures !== undefined && /^policy\.(?:promoted|rejected|rolled-back)$/.test(type);

const gateItem = ({ version, state, metrics }: ShownVersion): VersionChecks['gate'][number] => ({
  version,
  outcome: state,
  metrics: Object.fromEntries(
    Object.entries(metrics).filter(([name]) => /^(?:canary|meanKl|klToBase)/.test(name)),
  ),
});

function canaryItem(
  { model: { turns: table } }: ConsoleDeps,
  running: RunningCanary,
  margin: number,
): NonNullable<VersionChecks['canary']> {
  const { canary, ...counts } = running;
  const { from, to, share, adapter } = canary;
  const sessions = { parent: new Set<string>(), candidate: new Set<string>() };
  const rows = table.inTime();
  for (let at = rows.length - 1; at >= 0 && rows[at]!.ms >= counts.since; at--) {
    const view = table.view(rows[at]!.id);
    if (!view.live || view.adapter !== adapter) continue;
    if (view.version === to) sessions.candidate.add(view.session);
    if (view.version === from) sessions.parent.add(view.session);
  }
  return {
    ...counts,
    from,
    to,
    share,
    sessions: { parent: sessions.parent.size, candidate: sessions.candidate.size },
    evidence: canaryEvidence(running, margin),
  };
}

import type { FastifyInstance } from 'fastify';
import { evidenceOfWorse } from '../../../shared/lineage/evidence.ts';
import { canaryEvidence } from '../../../shared/lineage/watched-versions.ts';
import { columnText } from '../../../shared/views/turn-index/index-file.ts';
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
  { model: { turns } }: ConsoleDeps,
  running: RunningCanary,
  margin: number,
): NonNullable<VersionChecks['canary']> {
  const { canary, ...counts } = running;
  const { from, to, share, adapter } = canary;
  const sessionsOf = (version: number): number =>
    turns.read((ask) => {
      const [row] = ask(
        `SELECT count(DISTINCT session) AS n FROM turns
         WHERE version = ? AND ms >= ? AND adapter = ? AND live = 1`,
        version,
        counts.since,
        columnText(adapter),
      );
      return Number(row!.n);
    });
  return {
    ...counts,
    from,
    to,
    share,
    sessions: { parent: sessionsOf(from), candidate: sessionsOf(to) },
    evidence: canaryEvidence(running, margin),
  };
}

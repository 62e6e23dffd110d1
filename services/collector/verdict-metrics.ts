import { Gauge, type Registry } from 'prom-client';
import type { Tally } from '../../shared/lineage/evidence.ts';
import { canaryEvidence } from '../../shared/lineage/watched-versions.ts';
import type { SubjectView } from '../../shared/log/event-log.ts';
import type { Rows } from '../../shared/log/rows.ts';
import { canaryFallback, runningCanary } from './canary.ts';
import type { SubmitSettings } from './fold-settings.ts';
import { watchedVersion } from './verdict-watch.ts';

type Figure = readonly [labels: Readonly<Record<string, string>>, value: number];

/** The evidence itself may be too large for a chart. Evidence below 1 says nothing. */
const logOf = (evidence: number): number => Math.max(0, Math.log10(evidence));

const verdicts = (side: string, { turns, bad }: Tally): readonly Figure[] => [
  [{ side, verdict: 'bad' }, bad],
  [{ side, verdict: 'good' }, turns - bad],
];

/**
 * What verdicts say about canaries and watched versions, computed from committed rows when somebody asks.
 * @returns for `owed` of `submit`
 */
export function addVerdictMetrics(
  registry: Registry,
  { watch, canary = canaryFallback }: Pick<SubmitSettings, 'watch' | 'canary'>,
): (views: readonly SubjectView[]) => void {
  const adapters = new Map<string, Rows>();
  const gauge = (
    name: string,
    { help, labels = [] }: { readonly help: string; readonly labels?: readonly string[] },
    figuresOf: (rows: Rows) => readonly Figure[],
  ) =>
    new Gauge({
      name,
      help,
      labelNames: ['adapter', ...labels],
      registers: [registry],
      collect() {
        this.reset();
        for (const [adapter, rows] of adapters)
          for (const [values, figure] of figuresOf(rows)) this.set({ adapter, ...values }, figure);
      },
    });
  gauge(
    'clawloop_canary_share',
    { help: 'share of the sessions that a candidate on canary answers; 0: none is on canary' },
    (rows) => [[{}, runningCanary(rows)?.canary.share ?? 0]],
  );
  gauge(
    'clawloop_canary_verdicts',
    {
      help: 'verdicts since the running canary began, on the candidate or its parent; absent: none is on canary',
      labels: ['side', 'verdict'],
    },
    (rows) => {
      const running = runningCanary(rows);
      if (running === undefined) return [];
      return [...verdicts('parent', running.parent), ...verdicts('candidate', running.candidate)];
    },
  );
  gauge(
    'clawloop_canary_evidence_log10',
    {
      help: 'base-10 logarithm, at least 0, of the evidence for a claim: the candidate on canary is worse, or not-worse by the margin; 2 decides if --rollback-alpha is 0.01',
      labels: ['claim'],
    },
    (rows) => {
      const running = runningCanary(rows);
      if (running === undefined) return [];
      const { worse, notWorse } = canaryEvidence(running, canary.margin);
      return [
        [{ claim: 'worse' }, logOf(worse)],
        [{ claim: 'not-worse' }, logOf(notWorse)],
      ];
    },
  );
  const watched = (rows: Rows) => (watch === undefined ? undefined : watchedVersion(rows, watch));
  gauge(
    'clawloop_rollback_evidence_log10',
    {
      help: 'base-10 logarithm, at least 0, of the evidence that a watched version is worse than those before it: of the version with the most; 2 rolls it back if --rollback-alpha is 0.01',
    },
    (rows) => [[{}, logOf(watched(rows)?.evidence ?? 0)]],
  );
  gauge(
    'clawloop_rollback_verdicts',
    {
      help: 'verdicts before and after the promotion of that version; absent: no version is watched',
      labels: ['side', 'verdict'],
    },
    (rows) => {
      const version = watched(rows);
      return version === undefined
        ? []
        : [...verdicts('before', version.before), ...verdicts('after', version.after)];
    },
  );
  return (views) => {
    for (const { subject, rows } of views) adapters.set(subject, rows);
  };
}

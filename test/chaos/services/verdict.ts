import { killsOf, nameOf } from './plan.ts';
import type { SeedReport } from './run-seed.ts';

/** The violations, one sentence each; empty: the seed passed. */
export function violations(report: SeedReport): readonly string[] {
  const { lost, doubled, changed, unrecorded, failed, unanswered, crashes, ends, audit, replay } = report;
  return [
    ...lost.map((what) => `lost: ${what}`),
    ...doubled.map((what) => `doubled: ${what}`),
    ...changed.map((what) => `changed: ${what}`),
    ...(unrecorded === 0 ? [] : [`${unrecorded} answers were not recorded`]),
    ...failed.map(({ what }) => `a request failed although serving was up: ${what}`),
    ...unanswered.map((what) => `never answered: ${what}`),
    ...crashes.map((what) => `ended without a request: ${what}`),
    ...ends.filter((how) => !how.endsWith('exit 0')).map((how) => `did not end cleanly: ${how}`),
    ...(audit === 'balances' ? [] : [`audit: ${audit}`]),
    ...(replay === 'same digests' ? [] : [`replay: ${replay}`]),
  ].map((what) => `seed ${report.seed} (${report.mode}): ${what}`);
}

/** Number of killed processes. */
export const killCount = (reports: readonly SeedReport[]): number =>
  reports.reduce(
    (sum, { hits, processes }) =>
      sum + hits.reduce((count, { fault }) => count + killsOf(fault, processes), 0),
    0,
  );

const measures = [
  'open streams',
  'votes queued',
  'votes running',
  'open batches',
  'steps running',
  'facts in the outbox',
  'events unread',
  'open transactions',
] as const;

/** Markdown: for each fault its count and the total work in flight at those moments; below it the results. */
export function reportTable(reports: readonly SeedReport[]): string {
  const hits = reports.flatMap((report) => report.hits.map((hit) => ({ ...hit, mode: report.mode })));
  const rows = (['embedded', 'brokers'] as const).flatMap((mode) => {
    const names = [
      ...new Set(hits.filter((hit) => hit.mode === mode).map(({ fault }) => nameOf(fault))),
    ].sort();
    return names.map((name) => {
      const these = hits.filter((hit) => hit.mode === mode && nameOf(hit.fault) === name);
      const sums = measures.map((measure) =>
        these.reduce((sum, { exposure }) => sum + (exposure[measure] ?? 0), 0),
      );
      return [mode, name, these.length, ...sums];
    });
  });
  const sum = (of: (report: SeedReport) => number) => reports.reduce((total, one) => total + of(one), 0);
  const totals: readonly (readonly [string, number])[] = [
    ['processes killed', killCount(reports)],
    ['answers given', sum(({ answers }) => answers)],
    ['requests that failed while serving was down, retried and answered', sum(({ excused }) => excused)],
    ['other requests that failed', sum(({ failed }) => failed.length)],
    ['versions trained, all replayed', sum(({ versions }) => versions)],
    ['canaries decided', sum(({ canaries }) => canaries)],
    ['records appended twice, which folds ignore', sum(({ repeatedRecords }) => repeatedRecords)],
    ['lost', sum(({ lost }) => lost.length)],
    ['doubled', sum(({ doubled }) => doubled.length)],
  ];
  return [table(['', 'fault', 'times', ...measures], rows), table(['over all seeds', ''], totals)].join(
    '\n\n',
  );
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

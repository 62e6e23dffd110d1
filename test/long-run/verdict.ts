import type { Comparison } from '../chaos/services/compare.ts';
import type { Failure } from '../chaos/services/crowd-record.ts';
import { levelsOf } from './levels.ts';
import type { Reading } from './readings.ts';

export type LongRunReport = Comparison & {
  readonly hours: number;
  readonly readings: readonly Reading[];
  readonly answers: number;
  readonly people: number;
  /** Requests that failed while serving was down, and were repeated. */
  readonly excused: number;
  /** Other failed requests. */
  readonly failed: readonly Failure[];
  readonly unanswered: readonly string[];
  /** Times of each act that was carried out: `trim`, `SIGKILL judge`. */
  readonly acts: Readonly<Record<string, number>>;
  /** Commands that did not end with 0, with their output. */
  readonly refused: readonly string[];
  readonly crashes: readonly string[];
  readonly ends: readonly string[];
  readonly audit: string;
  readonly restored: string;
  readonly versions: number;
  /** Records that trims removed. */
  readonly trimmed: number;
  readonly seconds: number;
};

/** The violations, one sentence each; empty: the run passed. */
export function violationsOf(report: LongRunReport): readonly string[] {
  const { lost, doubled, changed, unrecorded, failed, unanswered, refused, crashes, ends } = report;
  return [
    ...lost.map((what) => `lost: ${what}`),
    ...doubled.map((what) => `doubled: ${what}`),
    ...changed.map((what) => `changed: ${what}`),
    ...(unrecorded === 0 ? [] : [`${unrecorded} answers were not recorded`]),
    ...failed.map(({ what }) => `a request failed although serving was up: ${what}`),
    ...unanswered.map((what) => `never answered: ${what}`),
    ...refused.map((what) => `a command failed: ${what}`),
    ...crashes.map((what) => `ended without a request: ${what}`),
    ...ends.filter((how) => !how.endsWith('exit 0')).map((how) => `did not end cleanly: ${how}`),
    ...(report.audit === 'balances' ? [] : [`audit: ${report.audit}`]),
    ...(report.restored === 'balances' ? [] : [`restored backup: ${report.restored}`]),
    ...(report.readings.length >= Math.floor(report.hours) - 1
      ? []
      : [`only ${report.readings.length} of ${report.hours} hours were measured`]),
    ...levelsOf(report.readings)
      .filter(({ growth, allowed }) => !(growth <= allowed))
      .map(
        ({ name, growth, allowed }) =>
          `not level: ${name} grew by ${growth.toFixed(1)}, more than ${allowed.toFixed(1)}`,
      ),
  ];
}

/** Below the hours: what was done and what came of it. */
export function summary(report: LongRunReport): string {
  const rows: readonly (readonly [string, string | number])[] = [
    ['simulated hours', report.hours],
    ['real seconds', report.seconds],
    ['people', report.people],
    ['answers given', report.answers],
    ['requests that failed while serving was down, repeated and answered', report.excused],
    ['other requests that failed', report.failed.length],
    ...Object.entries(report.acts).sort(([a], [b]) => a.localeCompare(b)),
    ['versions trained', report.versions],
    ['records removed by trims', report.trimmed],
    ['records appended twice, which folds ignore', report.repeatedRecords],
    ['lost', report.lost.length],
    ['doubled', report.doubled.length],
    ...levelsOf(report.readings).map(
      ({ name, growth, middle, allowed }) =>
        [
          `growth after the first days: ${name}`,
          `${growth.toFixed(1)} (middle ${middle.toFixed(1)}, allowed ${allowed.toFixed(1)})`,
        ] as const,
    ),
  ];
  return ['| over the run | |', '| --- | --- |', ...rows.map((row) => `| ${row.join(' | ')} |`)].join('\n');
}

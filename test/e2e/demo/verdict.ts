import type { SeedReport } from './run-seed.ts';

const LOW = 0.4;
const HIGH = 0.8;

/**
 * The condition for success: the share rises from LOW or less to HIGH or more on four of five seeds; without learning
 * it does not.
 */
export function judgeRun(reports: readonly SeedReport[]): {
  readonly lines: readonly string[];
  readonly passed: boolean;
} {
  const learned = reports.filter(({ learning }) => learning);
  const controls = reports.filter(({ learning }) => !learning);
  const rises = (report: SeedReport) =>
    (report.points[0]?.met ?? 1) <= LOW && (report.points.at(-1)?.met ?? 0) >= HIGH;
  const needed = Math.ceil(learned.length * 0.8);
  const checks: readonly (readonly [boolean, string])[] = [
    [
      learned.filter(rises).length >= needed,
      `with learning the share rises from <= ${LOW} to >= ${HIGH}: ${learned.filter(rises).length} of ${learned.length} seeds`,
    ],
    [
      controls.filter(rises).length === 0,
      `without it: ${controls.filter(rises).length} of ${controls.length}`,
    ],
    [
      learned.every(({ versions }) => versions >= 5),
      `versions served: ${learned.map(({ versions }) => versions).join(', ')}`,
    ],
    [
      reports.every(({ failures, kills }) => failures === 0 || kills.length > 0),
      `failed requests: ${reports.map(({ failures }) => failures).join(', ')}`,
    ],
    [reports.every(({ mixed }) => mixed === 0), 'no answer mixes versions'],
    [reports.every(({ audit }) => audit === 'balances'), 'clawloop audit balances'],
    [learned.every(({ replay }) => replay === 'same digests'), 'clawloop replay gives the same digests'],
  ];
  return {
    lines: checks.map(([holds, what]) => `${holds ? 'ok  ' : 'FAIL'} ${what}`),
    passed: checks.every(([holds]) => holds),
  };
}

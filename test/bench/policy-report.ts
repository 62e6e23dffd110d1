import type { Planned } from './policy-plan.ts';

export type PolicyMeasurement = {
  readonly model: string;
  readonly what: string;
  readonly way: string;
  readonly threads: number;
  readonly tokensPerSecond: number;
  /** Per second of processor time of all threads, which other load on the machine hardly changes. */
  readonly tokensPerProcessorSecond: number;
  readonly peakBytes: number;
  readonly rounds: number;
};

/** One case, measured in every way. */
export type MeasuredCase = { readonly planned: Planned; readonly rows: readonly PolicyMeasurement[] };

/** The machine and the peer of a measurement. */
export type Circumstances = {
  readonly machine: string;
  /** Such as `PyTorch 2.15.0, transformers 5.23.0`; undefined: no peer. */
  readonly peer: string | undefined;
  /** Of the machine's last minute, at the begin and at the end. */
  readonly load: readonly [number, number];
  readonly minutes: number;
};

const peers = ['PyTorch', 'transformers'];
const digits = (value: number): number => Number(value.toPrecision(3));
const figure = (value: number): string => digits(value).toLocaleString('en-US');

/** Cells of each row; ratios are empty for the peer itself and without a peer. */
export function cellsOf(rows: readonly PolicyMeasurement[]) {
  const peer = rows.find(({ way }) => peers.includes(way));
  const ratio = (row: PolicyMeasurement, of: (row: PolicyMeasurement) => number): string =>
    peer === undefined || row === peer ? '' : String(digits(of(row) / of(peer)));
  return rows.map((row) => ({
    way: row.way,
    threads: row.threads,
    'tok/s': figure(row.tokensPerSecond),
    'x peer': ratio(row, ({ tokensPerSecond }) => tokensPerSecond),
    'tok/processor s': figure(row.tokensPerProcessorSecond),
    'x peer ': ratio(row, ({ tokensPerProcessorSecond }) => tokensPerProcessorSecond),
    'peak MB': figure(Math.round(row.peakBytes / 1e6)),
    rounds: row.rounds,
  }));
}

const line = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;

/** Markdown: one table per model, and the limit of each case. */
export function policyTables(measured: readonly MeasuredCase[], at: Circumstances): string {
  const models = [...new Set(measured.map(({ planned }) => planned.model))];
  const tables = models.map((model) => {
    const cases = measured.filter(({ planned }) => planned.model === model);
    const head = [
      model,
      'way',
      'threads',
      'tok/s',
      'x peer',
      'tok/processor s',
      'x peer',
      'peak MB',
      'rounds',
    ];
    const body = cases.flatMap(({ rows }) =>
      cellsOf(rows).map((cells, index) => line([index === 0 ? rows[0]!.what : '', ...Object.values(cells)])),
    );
    return [line(head), line(head.map(() => '---')), ...body].join('\n');
  });
  const limits = measured.map(
    ({ planned, rows }) => `* ${planned.model}, ${rows[0]!.what}: ${planned.limitedBy}.`,
  );
  const [before, after] = at.load.map((load) => load.toFixed(1));
  const where =
    `${at.machine}; beside ${at.peer ?? 'no peer'}.\n` +
    `One run of ${at.minutes.toFixed(0)} minutes; load of the machine ${before} when it began, ${after} when it ended.`;
  return [where, ...tables, `What limits each:\n\n${limits.join('\n')}`].join('\n\n');
}

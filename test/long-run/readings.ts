/** What is there at the end of a simulated hour. Sizes in MiB, times in real ms. */
export type Reading = {
  readonly hour: number;
  /** By service: what the process holds for itself. */
  readonly memory: Readonly<Record<string, number>>;
  readonly disk: Readonly<Record<'log' | 'checkpoints' | 'backups' | 'other', number>>;
  /** In this hour, with median and 95th percentile of their durations. */
  readonly answers: number;
  readonly medianMs: number;
  readonly p95Ms: number;
  /** Processes per core that ran or waited for it, over the last real minute; other programs count too. */
  readonly load: number;
  /** Of all folds. */
  readonly rows: number;
  /** Of which the collector knows a session; a forgotten lane keeps only the row of its time. */
  readonly lanes: number;
  /** By topic: number of kept records, and their size. */
  readonly records: Readonly<Record<string, number>>;
  readonly recordMib: Readonly<Record<string, number>>;
};

const services = ['serving', 'collector', 'judge', 'trainer', 'console'] as const;
const topics = ['conversations', 'turns', 'training'] as const;
const columns = [
  'hour',
  'answers',
  'median ms',
  'p95 ms',
  'load',
  ...services.map((name) => `${name} MiB`),
  'log MiB',
  ...topics.map((name) => `${name} MiB`),
  'checkpoints MiB',
  'backups MiB',
  'other MiB',
  'rows',
  'lanes',
] as const;

export const tableHead = (): string => [line(columns), line(columns.map(() => '---'))].join('\n');

export const tableRow = (reading: Reading): string => {
  const { hour, answers, medianMs, p95Ms, load, memory, disk, recordMib, rows, lanes } = reading;
  return line([
    hour,
    answers,
    whole(medianMs),
    whole(p95Ms),
    tenth(load),
    ...services.map((name) => whole(memory[name])),
    tenth(disk.log),
    ...topics.map((name) => tenth(recordMib[name])),
    whole(disk.checkpoints),
    whole(disk.backups),
    tenth(disk.other),
    rows,
    lanes,
  ]);
};

const whole = (value: number | undefined): string => (value ?? Number.NaN).toFixed(0);
const tenth = (value: number | undefined): string => (value ?? 0).toFixed(1);
const line = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;

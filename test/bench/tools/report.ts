import { readFile, writeFile } from 'node:fs/promises';
import type { SeedReport } from './run-seed.ts';

const END = '<!-- /measured -->';

/**
 * Puts the table between the two marks of the page.
 *
 * @throws Error when the page has no such marks
 */
export async function writeLearningReport(
  page: string,
  experiment: string,
  reports: readonly SeedReport[],
): Promise<void> {
  const start = `<!-- measured: written by npm run bench:${experiment} -->`;
  const text = await readFile(page, 'utf8');
  const [before, after] = [text.indexOf(start), text.indexOf(END, text.indexOf(start))];
  if (before < 0 || after < 0) throw new Error(`${page} has no place for the table`);
  await writeFile(
    page,
    `${text.slice(0, before + start.length)}\n${learningTable(reports)}\n${text.slice(after)}`,
  );
}

/** A row per seed, with learning and with learning paused. */
export function learningTable(reports: readonly SeedReport[]): string {
  const [first] = reports;
  if (first === undefined) return 'Nothing was measured.';
  const steps = first.points.map(({ attempts }) => (attempts === 0 ? 'before' : `${attempts} attempts`));
  const head = ['seed', '', ...steps, 'last version', 'mean reward, last round', 'seconds', 'audit'];
  const rows = [true, false].flatMap((learning) => {
    const runs = reports.filter((report) => report.learning === learning).toSorted((a, b) => a.seed - b.seed);
    return runs.length === 0 ? [] : [...runs.map(rowOf), meanRow(runs)];
  });
  return [
    `| ${head.join(' | ')} |`,
    `|---|---|${head
      .slice(2)
      .map(() => '---:')
      .join('|')}|`,
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ].join('\n');
}

const kindOf = ({ learning }: SeedReport) => (learning ? 'with learning' : 'learning paused');
const percent = (share: number) => `${Math.round(share * 100)} %`;

const rowOf = (report: SeedReport): readonly (string | number)[] => [
  report.seed,
  kindOf(report),
  ...report.points.map(({ heldOut }) => percent(heldOut)),
  report.points.at(-1)!.version,
  report.points.at(-1)!.reward?.toFixed(2) ?? '-',
  report.seconds,
  report.audit,
];

function meanRow(runs: readonly SeedReport[]): readonly (string | number)[] {
  const mean = (value: (report: SeedReport) => number) =>
    runs.reduce((sum, report) => sum + value(report), 0) / runs.length;
  const bold = (text: string) => `**${text}**`;
  return [
    bold('mean'),
    kindOf(runs[0]!),
    ...runs[0]!.points.map((_, index) => bold(percent(mean(({ points }) => points[index]!.heldOut)))),
    '',
    mean(({ points }) => points.at(-1)!.reward ?? 0).toFixed(2),
    Math.round(mean(({ seconds }) => seconds)),
    '',
  ];
}

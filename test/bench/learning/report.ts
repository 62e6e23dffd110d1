import { readFile, writeFile } from 'node:fs/promises';
import type { Method } from './loop.ts';
import type { CellLine, PriorLine } from './results.ts';
import { tastes } from './tastes.ts';

const START = '<!-- measured: written by npm run bench:learning -->';
const END = '<!-- /measured -->';

export const methodNames: Readonly<Record<Method, string>> = {
  combine: 'combine',
  binary: 'binary',
  opd: 'opd',
  none: 'no learning',
};

/** Puts the tables between the two marks of the page. */
export async function writeReport(page: string, cells: readonly CellLine[], priors: readonly PriorLine[]) {
  const text = await readFile(page, 'utf8');
  const [before, after] = [text.indexOf(START), text.indexOf(END)];
  if (before < 0 || after < 0) throw new Error(`${page} has no place for the tables`);
  const tables = [`${cells.length} cells were measured.`, table(cells), priorTable(priors)].join('\n\n');
  await writeFile(page, `${text.slice(0, before + START.length)}\n${tables}\n${text.slice(after)}`);
}

function table(cells: readonly CellLine[]): string {
  const rows = tastes.flatMap(({ name, kind }) =>
    (Object.keys(methodNames) as Method[]).flatMap((method) => {
      const group = cells.filter((cell) => cell.taste === name && cell.method === method);
      return group.length === 0 ? [] : [row(`${name} (${kind})`, methodNames[method], group)];
    }),
  );
  return [
    '| taste | method | seeds | sessions until met | median | stays | held-out, start | session 24 | end | on topic, start | end | change, points | rejected |',
    '|---|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|',
    ...rows,
  ].join('\n');
}

function row(taste: string, method: string, unsorted: readonly CellLine[]): string {
  const cells = [...unsorted].sort((a, b) => a.seed - b.seed);
  const percent = (values: readonly number[]) => `${(100 * mean(values)).toFixed(0)} %`;
  const stayed = cells.flatMap((cell) => (cell.stayed === null ? [] : [cell.stayed]));
  const [start, end] = [cells.map((cell) => cell.start.onTopic), cells.map((cell) => cell.end.onTopic)];
  const change = 100 * (mean(end) - mean(start));
  return `| ${[
    taste,
    method,
    cells.length,
    cells.map(({ untilMet }) => untilMet ?? '-').join(', '),
    median(cells.map(({ untilMet }) => untilMet ?? Number.POSITIVE_INFINITY)),
    stayed.length === 0 ? '-' : percent(stayed),
    percent(cells.map((cell) => cell.start.met)),
    percent(cells.map(({ points }) => points.at(-1)!.met)),
    percent(cells.map((cell) => cell.end.met)),
    percent(start),
    percent(end),
    `${change > 0 ? '+' : ''}${change.toFixed(1)}`,
    cells.reduce((sum, { rejected }) => sum + rejected, 0),
  ].join(' | ')} |`;
}

const priorTable = (priors: readonly PriorLine[]): string =>
  [
    '| taste | what it is | kind | prior | on topic, base | of its answers that meet the taste |',
    '|---|---|---|---:|---:|---:|',
    ...tastes.map(({ name, about, kind }) => {
      const prior = priors.find(({ taste }) => taste === name)?.prior;
      const shares = [prior?.met, prior?.onTopic, prior?.onTopicWhenMet];
      return `| ${[name, about, kind, ...shares.map((one) => (one == null ? '-' : `${(100 * one).toFixed(1)} %`))].join(' | ')} |`;
    }),
  ].join('\n');

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

function median(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  const middle =
    (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.ceil((sorted.length - 1) / 2)]!) / 2;
  return Number.isFinite(middle) ? String(middle) : '-';
}

import { unitsOf } from '../features.ts';
import { type EarModel, type Heard, hear } from '../model.ts';
import type { Row } from './read-rows.ts';

/** What the ear heard in a row that did not train it. */
export type Judged = { readonly row: Row; readonly heard: Heard | undefined };

export const judgeRows = (model: EarModel, rows: readonly Row[]): readonly Judged[] =>
  rows.map((row) => ({ row, heard: hear(model, unitsOf(row.text)) }));

export type Rates = {
  readonly precision: number;
  readonly recall: number;
  readonly given: number;
  readonly of: number;
};

const share = (part: number, whole: number): number => (whole === 0 ? 1 : part / whole);

/** Precision and recall of one verdict at a threshold. */
export function ratesOf(judged: readonly Judged[], verdict: 'bad' | 'good', threshold: number): Rates {
  const given = judged.filter(({ heard }) => heard !== undefined && heard[verdict] >= threshold);
  const right = given.filter(({ row }) => row.label === verdict).length;
  const all = judged.filter(({ row }) => row.label === verdict).length;
  return { precision: share(right, given.length), recall: share(right, all), given: given.length, of: all };
}

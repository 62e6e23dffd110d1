import { lexicalEvidence, weigh } from '../../judges/signals/evidence.ts';
import { unitsOf } from '../features.ts';
import { isOfMachine } from '../machine.ts';
import { type EarModel, type Heard, hear } from '../model.ts';
import type { Thresholds } from '../read-ear.ts';
import { verdictOfEar, wishesHeard } from '../verdict.ts';
import type { Row } from './read-rows.ts';

/** The scores of a row that was not used for training. */
export type Judged = { readonly row: Row; readonly heard: Heard | undefined };

export const judgeRows = (model: EarModel, rows: readonly Row[]): readonly Judged[] =>
  rows.map((row) => ({ row, heard: hear(model, unitsOf(row.text)) }));

type JudgedVote = Judged & { readonly vote: -1 | 0 | 1 };

const share = (part: number, whole: number): number =>
  whole === 0 ? 1 : Math.round((1000 * part) / whole) / 1000;

const votesOf = (judged: readonly Judged[], thresholds: Thresholds): readonly JudgedVote[] =>
  judged.map(({ row, heard }) => ({
    row,
    heard,
    vote:
      heard === undefined || isOfMachine(row.text)
        ? 0
        : verdictOfEar(
            { heard, bySignals: weigh(lexicalEvidence(row.text)), length: row.text.length },
            thresholds,
          ),
  }));

const signs = { bad: -1, good: 1 } as const;

function ratesOf(votes: readonly JudgedVote[], label: 'bad' | 'good') {
  const given = votes.filter(({ vote }) => vote === signs[label]);
  const meant = votes.filter(({ row }) => row.label === label);
  const right = given.filter(({ row }) => row.label === label).length;
  return { precision: share(right, given.length), recall: share(right, meant.length), of: meant.length };
}

/** The figures of the model card, from messages that were not used for training. */
export function figuresOf(judged: readonly Judged[], thresholds: Thresholds) {
  const votes = votesOf(judged, thresholds);
  const bad = ratesOf(votes, 'bad');
  const sarcastic = votes.filter(({ row }) => row.label === 'bad' && row.style === 'sarcastic');
  const complaints = votes.filter(({ row }) => row.label === 'bad' && row.wishes.length > 0);
  const wishes = complaints.map(({ row, heard, vote }) => ({
    meant: row.wishes,
    heard: heard === undefined || vote !== -1 ? [] : wishesHeard(heard, thresholds.kind),
  }));
  const heard = wishes.flatMap((one) => one.heard.map((kind) => one.meant.includes(kind)));
  const byLanguage = groups(votes, ({ row }) => row.language).map(([language, some]) => [
    language,
    { bad: ratesOf(some, 'bad'), good: ratesOf(some, 'good') },
  ]);
  return {
    bad,
    good: ratesOf(votes, 'good'),
    sarcasmTakenForPraise: share(sarcastic.filter(({ vote }) => vote === 1).length, sarcastic.length),
    wishPrecision: share(heard.filter(Boolean).length, heard.length),
    wishRecall: share(
      wishes.filter((one) => one.heard.some((kind) => one.meant.includes(kind))).length,
      wishes.length,
    ),
    languages: Object.fromEntries(byLanguage),
  };
}

const groups = <Item>(items: readonly Item[], key: (item: Item) => string): readonly [string, Item[]][] => {
  const byKey = new Map<string, Item[]>();
  for (const item of items) byKey.set(key(item), [...(byKey.get(key(item)) ?? []), item]);
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1));
};

/** One line per language and style; with `verbose` also the misjudged messages. */
export function tableOf(judged: readonly Judged[], thresholds: Thresholds, verbose: boolean): string {
  const votes = votesOf(judged, thresholds);
  const line = ([name, some]: readonly [string, readonly JudgedVote[]]) => {
    const [bad, good] = [ratesOf(some, 'bad'), ratesOf(some, 'good')];
    return `${name.padEnd(20)} bad ${bad.precision} ${bad.recall} of ${bad.of}, good ${good.precision} ${good.recall} of ${good.of}`;
  };
  const wrong = votes.filter(({ row, vote }) => vote !== 0 && vote !== signs[row.label as 'bad' | 'good']);
  return [
    JSON.stringify(thresholds),
    JSON.stringify({ ...figuresOf(judged, thresholds), languages: undefined }),
    ...[['all', votes] as const, ...groups(votes, ({ row }) => row.language)].map(line),
    ...groups(votes, ({ row }) => `${row.label}/${row.style}`).map(line),
    ...(verbose
      ? wrong.map(({ row, vote, heard }) =>
          [
            vote,
            row.label,
            row.style,
            heard!.bad.toFixed(2),
            heard!.good.toFixed(2),
            row.file,
            row.text,
          ].join('\t'),
        )
      : []),
  ].join('\n');
}

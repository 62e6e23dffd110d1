import { lexicalEvidence, weigh } from '../../judges/signals/evidence.ts';
import { isOfMachine } from '../machine.ts';
import type { Thresholds } from '../read-ear.ts';
import { verdictOfEar, wishesHeard } from '../verdict.ts';
import type { Judged } from './evaluate.ts';

type Said = Judged & { readonly vote: -1 | 0 | 1 };

const share = (part: number, whole: number): number =>
  whole === 0 ? 1 : Math.round((1000 * part) / whole) / 1000;

const votesOf = (judged: readonly Judged[], thresholds: Thresholds): readonly Said[] =>
  judged.map((one) => ({
    ...one,
    vote:
      one.heard === undefined || isOfMachine(one.row.text)
        ? 0
        : verdictOfEar(one.heard, weigh(lexicalEvidence(one.row.text)), thresholds),
  }));

const signs = { bad: -1, good: 1 } as const;

function ratesOf(said: readonly Said[], label: 'bad' | 'good') {
  const given = said.filter(({ vote }) => vote === signs[label]);
  const meant = said.filter(({ row }) => row.label === label);
  const right = given.filter(({ row }) => row.label === label).length;
  return { precision: share(right, given.length), recall: share(right, meant.length), of: meant.length };
}

/** What the model card says, of messages that did not train the scores. */
export function figuresOf(judged: readonly Judged[], thresholds: Thresholds) {
  const said = votesOf(judged, thresholds);
  const bad = ratesOf(said, 'bad');
  const sarcastic = said.filter(({ row }) => row.label === 'bad' && row.style === 'sarcastic');
  const complaints = said.filter(({ row }) => row.label === 'bad' && row.wishes.length > 0);
  const wishes = complaints.map(({ row, heard, vote }) => ({
    meant: row.wishes,
    heard: heard === undefined || vote !== -1 ? [] : wishesHeard(heard, thresholds.kind),
  }));
  const heard = wishes.flatMap((one) => one.heard.map((kind) => one.meant.includes(kind)));
  const byLanguage = groups(said, ({ row }) => row.language).map(([language, some]) => [
    language,
    { bad: ratesOf(some, 'bad'), good: ratesOf(some, 'good') },
  ]);
  return {
    bad,
    good: ratesOf(said, 'good'),
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
  const found = new Map<string, Item[]>();
  for (const item of items) found.set(key(item), [...(found.get(key(item)) ?? []), item]);
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
};

/** A line per language and style, and with `verbose` what was misheard. */
export function tableOf(judged: readonly Judged[], thresholds: Thresholds, verbose: boolean): string {
  const said = votesOf(judged, thresholds);
  const line = ([name, some]: readonly [string, readonly Said[]]) => {
    const [bad, good] = [ratesOf(some, 'bad'), ratesOf(some, 'good')];
    return `${name.padEnd(20)} bad ${bad.precision} ${bad.recall} of ${bad.of}, good ${good.precision} ${good.recall} of ${good.of}`;
  };
  const wrong = said.filter(({ row, vote }) => vote !== 0 && vote !== signs[row.label as 'bad' | 'good']);
  return [
    JSON.stringify(thresholds),
    JSON.stringify({ ...figuresOf(judged, thresholds), languages: undefined }),
    ...[['all', said] as const, ...groups(said, ({ row }) => row.language)].map(line),
    ...groups(said, ({ row }) => `${row.label}/${row.style}`).map(line),
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

import type { Table } from '../../shared/log/rows.ts';
import { contradict } from '../../shared/wishes/wish-id.ts';
import { wishes, wishesIn } from '../../shared/wishes/wishes.ts';
import type { FormsRow, JudgeTables, OpenTurn } from './judge-rows.ts';
import { type PlainForm, plainForms } from './plain-forms.ts';
import { PERSON_DECAY } from './weak-evidence.ts';

/*
 * Infers a wish from complaints that name none: the answers that a person complains about may lack a form that
 * their other answers have.
 */

const nothingSeen: FormsRow = { bad: 0, others: 0, lacking: {} };

/** Fewer complaints about one form are a coincidence. Three in a row reach this value after decay. */
const LEAST_COMPLAINTS = 2.9;
/** Standard errors by which the log odds ratio must exceed 0; one test in a hundred does by chance. */
const LEAST_ERRORS = 2.33;

const decayed = (count: number): number => PERSON_DECAY * count;

/** Adds one judged answer to the counts of a person. */
export function noteForms(
  forms: Table<FormsRow>,
  key: string,
  { unmet, isBad }: { readonly unmet: readonly PlainForm[]; readonly isBad: boolean },
): void {
  const before = forms.get(key) ?? nothingSeen;
  const [bad, others] = isBad ? [1, 0] : [0, 1];
  const kinds = plainForms.filter((kind) => unmet.includes(kind) || before.lacking[kind] !== undefined);
  const lacking = kinds.map((kind) => {
    const seen = before.lacking[kind] ?? { bad: 0, others: 0 };
    const now = Number(unmet.includes(kind));
    const after = { bad: decayed(seen.bad) + now * bad, others: decayed(seen.others) + now * others };
    return [kind, after] as const;
  });
  forms.set(key, {
    bad: decayed(before.bad) + bad,
    others: decayed(before.others) + others,
    lacking: Object.fromEntries(lacking),
  });
}

/** A stated wish removes the counts of the forms that contradict it. */
export function forgetContrary(forms: Table<FormsRow>, key: string, hints: readonly string[]): void {
  const row = forms.get(key);
  const stated = hints.flatMap(wishesIn);
  if (row === undefined || stated.length === 0) return;
  const kept = plainForms.filter((kind) => !stated.some((wish) => contradict(wish, kind)));
  const lacking = kept.flatMap((kind) =>
    row.lacking[kind] === undefined ? [] : [[kind, row.lacking[kind]]],
  );
  forms.set(key, { ...row, lacking: Object.fromEntries(lacking) });
}

/**
 * The hint for the form that this bad answer lacks and that correlates most with the person's complaints.
 * undefined: no form correlates plainly. Uses the log odds ratio with 0.5 added to each cell (Haldane 1956,
 * Anscombe 1956).
 */
export function inferredHint(row: FormsRow | undefined, unmet: readonly PlainForm[]): string | undefined {
  const { bad, others, lacking } = row ?? nothingSeen;
  const errorsOf = (kind: PlainForm): number => {
    const seen = lacking[kind];
    if (seen === undefined || seen.bad < LEAST_COMPLAINTS) return 0;
    const cells = [seen.bad, others - seen.others, bad - seen.bad, seen.others].map((cell) => cell + 0.5);
    const [a, b, c, d] = cells as [number, number, number, number];
    return Math.log((a * b) / (c * d)) / Math.sqrt(cells.reduce((sum, cell) => sum + 1 / cell, 0));
  };
  const [strongest] = unmet
    .map((kind) => ({ kind, errors: errorsOf(kind) }))
    .toSorted((a, b) => b.errors - a.errors);
  return strongest !== undefined && strongest.errors >= LEAST_ERRORS
    ? wishes[strongest.kind].hint
    : undefined;
}

/** A complaint without a hint gets the hint that the person's complaints plainly have in common, if there is one. */
export function inferHint(
  { forms }: JudgeTables,
  { key, votes }: OpenTurn,
  isBad: boolean,
  hints: readonly string[],
): { readonly inferred?: string; readonly moreHints?: readonly string[] } {
  const unmet = Object.values(votes).find((cast) => cast.vote !== null && cast.unmet !== undefined)?.unmet;
  if (unmet === undefined) return {};
  noteForms(forms, key, { unmet, isBad });
  forgetContrary(forms, key, hints);
  if (!isBad || hints.length > 0) return {};
  const inferred = inferredHint(forms.get(key), unmet);
  return inferred === undefined ? {} : { inferred, moreHints: [inferred] };
}

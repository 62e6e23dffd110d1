import type { Table } from '../../shared/log/rows.ts';
import { wishMet } from '../../shared/wishes/measure.ts';
import { contradict } from '../../shared/wishes/wish-id.ts';
import { type WishKind, wishes, wishesIn } from '../../shared/wishes/wishes.ts';
import { PERSON_DECAY } from './weak-evidence.ts';

/**
 * Whoever complains and does not say of what may be understood all the same: the answers that they complain of
 * have something in common which the others lack.
 */

/**
 * Wishes that an answer plainly meets or does not, by its characters. Code and markdown are left out: they go
 * with the subject, and a person who complains of wrong code does not want it to look otherwise.
 */
const plainForms = [
  ...(['no-list', 'list', 'no-greeting', 'greeting', 'no-closing', 'closing'] as const),
  ...(['one-sentence', 'no-apology', 'no-emoji', 'no-questions'] as const),
] satisfies readonly WishKind[];
export type PlainForm = (typeof plainForms)[number];

/** Of a long answer so much is looked at, and its end. Characters. */
const LOOK_AT = { begin: 4000, end: 400 };
const bounded = (answer: string): string =>
  answer.length <= LOOK_AT.begin + LOOK_AT.end
    ? answer
    : `${answer.slice(0, LOOK_AT.begin)}\n${answer.slice(-LOOK_AT.end)}`;

/** The plain forms that an answer does not have. */
export function unmetBy(answer: string): readonly PlainForm[] {
  const text = bounded(answer);
  return plainForms.filter((kind) => wishMet(kind, text)! <= 0.5);
}

/** Those that a fact names. */
export const plainFormsIn = (names: readonly string[]): readonly PlainForm[] =>
  plainForms.filter((kind) => names.includes(kind));

/** Judged answers of one person, older ones counting less: of the bad and of the others, and how many lack a form. */
export type FormsRow = {
  readonly bad: number;
  readonly others: number;
  readonly lacking: Readonly<Partial<Record<PlainForm, { readonly bad: number; readonly others: number }>>>;
};
const nothingSeen: FormsRow = { bad: 0, others: 0, lacking: {} };

/** Fewer complaints about one form than these are a coincidence: three in a row, the older ones faded. */
const LEAST_COMPLAINTS = 2.9;
/** Standard errors by which the logarithm of the odds ratio has to exceed 0: one look in a hundred does by chance. */
const LEAST_ERRORS = 2.33;

const faded = (count: number): number => PERSON_DECAY * count;

/** What is known of a person after one more answer. */
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
    const after = { bad: faded(seen.bad) + now * bad, others: faded(seen.others) + now * others };
    return [kind, after] as const;
  });
  forms.set(key, {
    bad: faded(before.bad) + bad,
    others: faded(before.others) + others,
    lacking: Object.fromEntries(lacking),
  });
}

/** What a person states outweighs all that was inferred to the contrary. */
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
 * The hint of the form that this bad answer lacks and that the person's complaints go with the most; undefined:
 * none does plainly. By the logarithm of the odds ratio with half a turn added to each cell (Haldane 1956,
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
  const [most] = unmet
    .map((kind) => ({ kind, errors: errorsOf(kind) }))
    .toSorted((one, other) => other.errors - one.errors);
  return most !== undefined && most.errors >= LEAST_ERRORS ? wishes[most.kind].hint : undefined;
}

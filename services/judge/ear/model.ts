import { mean } from '../../../shared/lang/numbers.ts';
import { type WishKind, wishKinds } from '../../../shared/wishes/wishes.ts';
import { type Unit, viewOf } from './features.ts';

/**
 * Members of the ensemble, each with a score for "bad" and one for "good". The first reads all traits, the second
 * no characters, the third no words. If they disagree, the ear is unsure.
 */
export const MEMBERS = 3;
const viewsOfMember = [
  [true, true, true, true],
  [true, true, true, false],
  [true, true, false, true],
] as const;
export const memberReads = (member: number, trait: number): boolean => viewsOfMember[member]![viewOf(trait)]!;
/** Columns: per member bad and good; then each kind of wish; then "states a wish". */
export const COLUMNS = 2 * MEMBERS + wishKinds.length + 1;
export const firstWish = 2 * MEMBERS;
export const anyWish = COLUMNS - 1;

/** Linear scores of traits. Unknown traits score 0. */
export type EarModel = {
  /** trait -> row */
  readonly rows: ReadonlyMap<number, number>;
  /** row by row, `COLUMNS` each */
  readonly weights: Float32Array;
  readonly bias: Float32Array;
};

export type Heard = {
  /** probabilities, means over the members */
  readonly bad: number;
  readonly good: number;
  readonly wishes: Readonly<Record<WishKind, number>>;
  /** probability that the message states a wish */
  readonly wish: number;
  /** per sentence: logits of the complaint and of the wish */
  readonly sentences: readonly { readonly sentence: string; readonly bad: number; readonly wish: number }[];
};

/** The score of one sentence in each column, scaled so that long sentences do not dominate. */
function scoreUnit(model: EarModel, traits: Uint32Array): Float64Array {
  const scores = Float64Array.from(model.bias);
  const scale = scaleOf(traits.length);
  for (const trait of traits) {
    const row = model.rows.get(trait);
    if (row === undefined) continue;
    const at = row * COLUMNS;
    for (let column = 0; column < COLUMNS; column += 1)
      scores[column]! += scale * model.weights[at + column]!;
  }
  return scores;
}

export const scaleOf = (traits: number): number => 4 / Math.sqrt(traits + 20);

/** Soft maximum. As the score of a message over its sentences, one reacting sentence is enough. */
export function softMaximum(values: readonly number[]): number {
  const most = Math.max(...values);
  return most + Math.log(values.reduce((sum, value) => sum + Math.exp(value - most), 0));
}

export const sigmoid = (value: number): number => 1 / (1 + Math.exp(-value));

/** Probabilities of bad and good, given their scores; "neither" has the score 0. */
export function verdictOf(bad: number, good: number): readonly [bad: number, good: number] {
  const most = Math.max(bad, good, 0);
  const sum = Math.exp(bad - most) + Math.exp(good - most) + Math.exp(-most);
  return [Math.exp(bad - most) / sum, Math.exp(good - most) / sum];
}

/** The scores of one message. */
export function hear(model: EarModel, units: readonly Unit[]): Heard | undefined {
  if (units.length === 0) return undefined;
  const scores = units.map(({ traits }) => scoreUnit(model, traits));
  const pooled = (column: number) => softMaximum(scores.map((score) => score[column]!));
  const members = Array.from({ length: MEMBERS }, (_, member) =>
    verdictOf(pooled(2 * member), pooled(2 * member + 1)),
  );
  const meanOf = (index: 0 | 1) => members.reduce((sum, one) => sum + one[index], 0) / MEMBERS;
  return {
    bad: meanOf(0),
    good: meanOf(1),
    wishes: Object.fromEntries(
      wishKinds.map((kind, index) => [kind, sigmoid(pooled(firstWish + index))]),
    ) as Record<WishKind, number>,
    wish: sigmoid(pooled(anyWish)),
    sentences: units.map(({ sentence }, index) => ({
      sentence,
      bad: mean(Array.from({ length: MEMBERS }, (_, member) => scores[index]![2 * member]!)),
      wish: scores[index]![anyWish]!,
    })),
  };
}

import { createRandom, type Random } from '../../../../shared/policy/model/random.ts';
import { wishKinds } from '../../../../shared/wishes/wishes.ts';
import { type Unit, unitsOf } from '../features.ts';
import {
  anyWish,
  COLUMNS,
  type EarModel,
  firstWish,
  MEMBERS,
  memberReads,
  scaleOf,
  sigmoid,
  verdictOf,
} from '../model.ts';
import type { Row } from './read-rows.ts';

type TrainingSettings = {
  readonly seed: string;
  readonly epochs: number;
  readonly rate: number;
  /** weight decay per update */
  readonly decay: number;
  /** share of the traits that an update leaves out */
  readonly dropout: number;
  /** minimum rows that contain a trait */
  readonly leastRows: number;
  /** weight of rows that are no complaints */
  readonly notBad: number;
  /** share of the rows that each member of the ensemble does not see */
  readonly leftOut: number;
  /** passes from the start, in orders of their own; the weights are the mean over them */
  readonly runs: number;
};

const trainingSettings: TrainingSettings = {
  seed: 'ear',
  epochs: 3,
  rate: 0.08,
  decay: 1e-5,
  dropout: 0.2,
  leastRows: 3,
  notBad: 1.5,
  leftOut: 0.25,
  runs: 3,
};

/** A training example. All variants of a row have the same `source`. */
export type Example = Row & { readonly source: number; readonly statesWish: boolean | undefined };

type Prepared = { readonly example: Example; readonly units: readonly Uint32Array[] };

/**
 * Multinomial and binary logistic regression over the soft maximum of a message's sentences, by AdaGrad
 * (Duchi et al. 2011). Each member of the ensemble sees different rows. Means over several runs depend less on
 * the order of the rows. The same seed gives the same model.
 */
export function trainEar(examples: readonly Example[], settings = trainingSettings): EarModel {
  const random = createRandom(settings.seed);
  const all = examples.map((example) => ({ example, units: unitsOf(example.text) }));
  const rows = vocabulary(all, settings.leastRows);
  const prepared = all.map(({ example, units }) => ({ example, units: units.map(({ traits }) => traits) }));
  const order = prepared.map((_, index) => index);
  const weights = new Float32Array(rows.size * COLUMNS);
  const bias = new Float32Array(COLUMNS);
  for (let run = 0; run < settings.runs; run += 1) {
    const learner = openLearner(rows, settings, random);
    for (let epoch = 0; epoch < settings.epochs; epoch += 1) {
      shuffle(order, random);
      for (const index of order) learner.learn(prepared[index]!);
    }
    addPart(weights, learner.weights, 1 / settings.runs);
    addPart(bias, learner.bias, 1 / settings.runs);
  }
  return { rows, weights, bias };
}

function addPart(sum: Float32Array, values: Float32Array, part: number): void {
  for (let at = 0; at < sum.length; at += 1) sum[at]! += part * values[at]!;
}

/** The traits that enough sources contain, with their rows. */
function vocabulary(
  all: readonly { readonly example: Example; readonly units: readonly Unit[] }[],
  leastRows: number,
): ReadonlyMap<number, number> {
  const last = new Map<number, number>();
  const counts = new Map<number, number>();
  for (const { example, units } of all)
    for (const { traits } of units)
      for (const trait of traits) {
        if (last.get(trait) === example.source) continue;
        last.set(trait, example.source);
        counts.set(trait, (counts.get(trait) ?? 0) + 1);
      }
  const kept = [...counts].filter(([, count]) => count >= leastRows).map(([trait]) => trait);
  return new Map(kept.sort((a, b) => a - b).map((trait, row) => [trait, row]));
}

function shuffle(order: number[], random: Random): void {
  for (let at = order.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1));
    [order[at], order[other]] = [order[other]!, order[at]!];
  }
}

function openLearner(rows: ReadonlyMap<number, number>, settings: TrainingSettings, random: Random) {
  const traits = Uint32Array.from(rows.keys());
  const weights = new Float32Array(rows.size * COLUMNS);
  const squares = new Float32Array(rows.size * COLUMNS).fill(1e-2);
  const bias = new Float32Array(COLUMNS).fill(-2);
  const biasSquares = new Float32Array(COLUMNS).fill(1e-2);

  const scoreOf = (known: readonly number[], scale: number): Float64Array => {
    const scores = new Float64Array(COLUMNS);
    for (const row of known) {
      const at = row * COLUMNS;
      for (let column = 0; column < COLUMNS; column += 1) scores[column]! += weights[at + column]!;
    }
    for (let column = 0; column < COLUMNS; column += 1)
      scores[column] = bias[column]! + scale * scores[column]!;
    return scores;
  };

  const move = (known: readonly number[], scale: number, slope: Float64Array): void => {
    const columns: number[] = [];
    for (let column = 0; column < COLUMNS; column += 1) {
      const base = slope[column]!;
      if (base === 0) continue;
      columns.push(column);
      biasSquares[column]! += base * base;
      bias[column]! -= (settings.rate * base) / Math.sqrt(biasSquares[column]!);
    }
    for (const row of known)
      for (const column of columns) {
        if (column < firstWish && !memberReads(column >> 1, traits[row]!)) continue;
        const at = row * COLUMNS + column;
        const whole = slope[column]! * scale + settings.decay * weights[at]!;
        squares[at]! += whole * whole;
        weights[at]! -= (settings.rate * whole) / Math.sqrt(squares[at]!);
      }
  };

  const learn = ({ example, units }: Prepared): void => {
    const visited = units.map((traits) => {
      const known: number[] = [];
      for (const trait of traits) {
        const row = rows.get(trait);
        if (row !== undefined && random() >= settings.dropout) known.push(row);
      }
      return { known, scale: scaleOf(traits.length) / (1 - settings.dropout) };
    });
    if (visited.length === 0) return;
    const scores = visited.map(({ known, scale }) => scoreOf(known, scale));
    const slopes = slopesOf(example, scores, settings);
    for (const [unit, { known, scale }] of visited.entries()) move(known, scale, slopes[unit]!);
  };
  return { weights, bias, learn };
}

/** Gradient of the loss with respect to the score of each sentence in each column. */
function slopesOf(
  example: Example,
  scores: readonly Float64Array[],
  settings: TrainingSettings,
): readonly Float64Array[] {
  const slopes = scores.map(() => new Float64Array(COLUMNS));
  /** soft maximum over the sentences */
  const pool = (column: number): number => {
    let most = Number.NEGATIVE_INFINITY;
    for (const score of scores) most = Math.max(most, score[column]!);
    let sum = 0;
    for (const score of scores) sum += Math.exp(score[column]! - most);
    return most + Math.log(sum);
  };
  const spread = (column: number, pooled: number, slope: number): void => {
    for (const [unit, score] of scores.entries())
      slopes[unit]![column] = slope * Math.exp(score[column]! - pooled);
  };
  for (let member = 0; member < MEMBERS; member += 1) {
    if (isLeftOut(example.source, member, settings.leftOut)) continue;
    const [bad, good] = [pool(2 * member), pool(2 * member + 1)];
    const [badly, well] = verdictOf(bad, good);
    const worth = example.label === 'bad' ? 1 : settings.notBad;
    spread(2 * member, bad, worth * (badly - Number(example.label === 'bad')));
    spread(2 * member + 1, good, worth * (well - Number(example.label === 'good')));
  }
  for (const [index, kind] of wishKinds.entries()) {
    const pooled = pool(firstWish + index);
    const slope = sigmoid(pooled) - Number(example.wishes.includes(kind));
    // skip most updates: a message names few kinds, and the model knows that
    if (Math.abs(slope) > 0.02) spread(firstWish + index, pooled, slope);
  }
  if (example.statesWish !== undefined) {
    const pooled = pool(anyWish);
    spread(anyWish, pooled, sigmoid(pooled) - Number(example.statesWish));
  }
  return slopes;
}

/** Decided by a hash, so that it is the same for all variants of a row. */
function isLeftOut(source: number, member: number, share: number): boolean {
  let mixed = Math.imul(source + 1, 0x9e3779b1) ^ Math.imul(member + 1, 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  mixed ^= mixed >>> 13;
  return (mixed >>> 0) / 2 ** 32 < share;
}

import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { COLUMNS, type EarModel } from '../model.ts';
import { type EarCard, modelOf, type Thresholds } from '../read-ear.ts';

/** A model in bytes, and the model after rounding. */
export type Packed = {
  readonly traits: Uint32Array;
  readonly small: Int8Array;
  readonly scales: readonly number[];
  readonly bias: readonly number[];
  readonly model: EarModel;
};

/** Quantisation steps of a weight on each side of 0. */
const STEPS = 127;

/** Keeps the `most` traits with the largest weights and packs each weight into a byte. */
export function pack({ rows, weights, bias }: EarModel, most: number): Packed {
  const largest = (row: number) => {
    let size = 0;
    for (let column = 0; column < COLUMNS; column += 1)
      size = Math.max(size, Math.abs(weights[row * COLUMNS + column]!));
    return size;
  };
  const kept = [...rows]
    .map(([trait, row]) => ({ trait, row, size: largest(row) }))
    .sort((a, b) => b.size - a.size || a.trait - b.trait)
    .slice(0, most)
    .sort((a, b) => a.trait - b.trait);
  const scales = Array.from({ length: COLUMNS }, (_, column) => {
    const most = kept.reduce(
      (size, { row }) => Math.max(size, Math.abs(weights[row * COLUMNS + column]!)),
      1e-6,
    );
    return Number((most / STEPS).toPrecision(6));
  });
  const small = new Int8Array(kept.length * COLUMNS);
  for (const [at, { row }] of kept.entries())
    for (let column = 0; column < COLUMNS; column += 1)
      small[at * COLUMNS + column] = Math.round(weights[row * COLUMNS + column]! / scales[column]!);
  const traits = Uint32Array.from(kept, ({ trait }) => trait);
  const rounded = [...bias].map((value) => Number(value.toPrecision(6)));
  return { traits, small, scales, bias: rounded, model: modelOf({ scales, bias: rounded }, traits, small) };
}

/** Writes `ear.bin` and `ear.json`; returns the digest of `ear.bin`. */
export function writeEar(
  folder: string,
  { traits, small, scales, bias }: Packed,
  thresholds: Thresholds,
  figures: EarCard['figures'],
): string {
  const bytes = Buffer.concat([Buffer.from(traits.buffer), Buffer.from(small.buffer)]);
  const digest = createHash('sha256').update(bytes).digest('hex');
  const card: EarCard = {
    format: 1,
    rows: traits.length,
    columns: COLUMNS,
    scales: [...scales],
    bias: [...bias],
    thresholds,
    digest,
    figures,
  };
  writeFileSync(`${folder}/ear.bin`, bytes);
  writeFileSync(`${folder}/ear.json`, `${JSON.stringify(card, null, 2)}\n`);
  return digest;
}

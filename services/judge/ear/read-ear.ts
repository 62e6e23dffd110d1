import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { endianness } from 'node:os';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { JudgeError } from '../errors.ts';
import { COLUMNS, type EarModel } from './model.ts';

/** Thresholds on the scores, chosen on messages that were not used for training. */
const thresholdsSchema = z.object({
  bad: z.number(),
  /** in a text that is longer than a person's reaction usually is */
  badInLongText: z.number(),
  /** if a rule gives the same verdict */
  badWithRule: z.number(),
  good: z.number(),
  goodInLongText: z.number(),
  /** for a kind of wish, and for "states a wish" */
  kind: z.number(),
  wish: z.number(),
});
export type Thresholds = z.output<typeof thresholdsSchema>;

const cardSchema = z.object({
  format: z.literal(1),
  rows: z.int().min(1),
  columns: z.literal(COLUMNS),
  /** per column: value of a stored weight of 1 */
  scales: z.array(z.number()).length(COLUMNS),
  bias: z.array(z.number()).length(COLUMNS),
  thresholds: thresholdsSchema,
  /** SHA-256 of `ear.bin`, hexadecimal */
  digest: z.string(),
  figures: z.record(z.string(), z.unknown()),
});
export type EarCard = z.output<typeof cardSchema>;

export type Ear = { readonly model: EarModel; readonly thresholds: Thresholds; readonly digest: string };

/** Folder of `ear.json` and `ear.bin`. */
export const earFolder = fileURLToPath(new URL('./model', import.meta.url));

/** Reads the description of the weights. Throws EAR_UNREADABLE. */
export function readCard(folder = earFolder): EarCard {
  const parsed = cardSchema.safeParse(JSON.parse(readFileSync(`${folder}/ear.json`, 'utf8')));
  if (!parsed.success) throw JudgeError.EAR_UNREADABLE({ reason: 'ear.json has another format' });
  return parsed.data;
}

/** Reads the ear: ascending traits of 32 bits, then one byte per trait and column. Throws EAR_UNREADABLE. */
export function readEar(folder = earFolder): Ear {
  const card = readCard(folder);
  const bytes = readFileSync(`${folder}/ear.bin`);
  const digest = createHash('sha256').update(bytes).digest('hex');
  if (digest !== card.digest) throw JudgeError.EAR_UNREADABLE({ reason: 'ear.bin does not match ear.json' });
  if (endianness() !== 'LE') throw JudgeError.EAR_UNREADABLE({ reason: 'this machine is big-endian' });
  const traits = new Uint32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + 4 * card.rows));
  const small = new Int8Array(bytes.buffer, bytes.byteOffset + 4 * card.rows, card.rows * COLUMNS);
  return { model: modelOf(card, traits, small), thresholds: card.thresholds, digest };
}

/** The model from its two files. Loops, since `from` and `map` would hold a number object per weight for a while. */
export function modelOf(
  { scales, bias }: Pick<EarCard, 'scales' | 'bias'>,
  traits: Uint32Array,
  small: Int8Array,
): EarModel {
  const rows = new Map<number, number>();
  for (let row = 0; row < traits.length; row += 1) rows.set(traits[row]!, row);
  const weights = new Float32Array(small.length);
  for (let at = 0; at < small.length; at += 1) weights[at] = small[at]! * scales[at % COLUMNS]!;
  return { rows, weights, bias: Float32Array.from(bias) };
}

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { endianness } from 'node:os';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { JudgeError } from '../errors.ts';
import { COLUMNS, type EarModel } from './model.ts';

/** What makes a score a verdict, chosen on messages that trained no part of the scores. */
const thresholdsSchema = z.object({
  bad: z.number(),
  good: z.number(),
  /** with a rule that says the same */
  badWithRule: z.number(),
  goodWithRule: z.number(),
  /** a kind of wish; "states a wish" */
  kind: z.number(),
  wish: z.number(),
});
export type Thresholds = z.output<typeof thresholdsSchema>;

const cardSchema = z.object({
  format: z.literal(1),
  rows: z.int().min(1),
  columns: z.literal(COLUMNS),
  /** per column: what a weight of 1 is worth */
  scales: z.array(z.number()).length(COLUMNS),
  bias: z.array(z.number()).length(COLUMNS),
  thresholds: thresholdsSchema,
  /** SHA-256 of `ear.bin`, hexadecimal */
  digest: z.string(),
  figures: z.record(z.string(), z.unknown()),
});
export type EarCard = z.output<typeof cardSchema>;

export type Ear = { readonly model: EarModel; readonly thresholds: Thresholds; readonly digest: string };

/** Of `ear.json` and `ear.bin`. */
export const earFolder = fileURLToPath(new URL('./model', import.meta.url));

/** What stands beside the weights. Throws EAR_UNREADABLE. */
export function readCard(folder = earFolder): EarCard {
  const parsed = cardSchema.safeParse(JSON.parse(readFileSync(`${folder}/ear.json`, 'utf8')));
  if (!parsed.success) throw JudgeError.EAR_UNREADABLE({ reason: 'ear.json is not what this version reads' });
  return parsed.data;
}

/** The shipped ear: traits as 32 bits each, ascending, then a byte per trait and column. Throws EAR_UNREADABLE. */
export function readEar(folder = earFolder): Ear {
  const card = readCard(folder);
  const bytes = readFileSync(`${folder}/ear.bin`);
  const digest = createHash('sha256').update(bytes).digest('hex');
  if (digest !== card.digest) throw JudgeError.EAR_UNREADABLE({ reason: 'ear.bin is not that of ear.json' });
  if (endianness() !== 'LE')
    throw JudgeError.EAR_UNREADABLE({ reason: 'this machine writes numbers the other way round' });
  const traits = new Uint32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + 4 * card.rows));
  const small = new Int8Array(bytes.buffer, bytes.byteOffset + 4 * card.rows, card.rows * COLUMNS);
  return { model: modelOf(card, traits, small), thresholds: card.thresholds, digest };
}

/** The model as its two files say it. */
export const modelOf = (
  { scales, bias }: Pick<EarCard, 'scales' | 'bias'>,
  traits: Uint32Array,
  small: Int8Array,
): EarModel => ({
  rows: new Map([...traits].map((trait, row) => [trait, row])),
  weights: Float32Array.from(small, (value, at) => value * scales[at % COLUMNS]!),
  bias: Float32Array.from(bias),
});

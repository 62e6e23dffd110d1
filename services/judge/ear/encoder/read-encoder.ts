import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { endianness } from 'node:os';
import { z } from 'zod';
import { wishKinds } from '../../../../shared/wishes/wishes.ts';
import { JudgeError } from '../../errors.ts';

const sizesSchema = z.object({
  layers: z.int().min(1),
  hidden: z.int().min(1),
  heads: z.int().min(1),
  /** maximum tokens of a text, with the marks at its ends */
  positions: z.int().min(2),
});
export type EncoderSizes = z.output<typeof sizesSchema>;

/** What the columns of the scores stand for. */
export const encoderColumns = ['bad', 'good', 'neither', ...wishKinds, 'wish', 'english'] as const;

const cardSchema = z.object({
  format: z.literal(2),
  sizes: sizesSchema,
  columns: z.array(z.string()).refine((names) => names.join() === encoderColumns.join()),
  /** embedding values with one scale */
  group: z.int().min(1),
  /** SHA-256 of `encoder.bin`, hexadecimal */
  digest: z.string(),
  about: z.record(z.string(), z.unknown()),
  parts: z.array(
    z.object({
      name: z.string(),
      /** i4: two numbers in a byte, the first in its low bits, each plus 8 */
      kind: z.enum(['f32', 'i8', 'i4']),
      shape: z.array(z.int().min(1)),
      /** offset in `encoder.bin`, bytes */
      at: z.int().min(0),
    }),
  ),
  /** as a `tokenizer.json` of Hugging Face */
  tokenizer: z.looseObject({}),
});
type EncoderCard = z.output<typeof cardSchema>;

/** The weights of an encoder, widened to f32 when they are asked for. */
export type EncoderFile = {
  readonly digest: string;
  readonly sizes: EncoderSizes;
  /** a `tokenizer.json` */
  readonly tokenizer: object;
  readonly vector: (name: string) => Float32Array;
  readonly matrix: (name: string) => {
    readonly inputs: number;
    readonly outputs: number;
    /** Writes the values into `target`, [inputs, outputs]. */
    readonly fill: (target: Float32Array) => void;
  };
  /** Writes the embedding of a token into `row`, [hidden]. */
  readonly embed: (id: number, row: Float32Array) => void;
};

/** Reads the description of the weights. Throws EAR_UNREADABLE. */
export function readEncoderCard(folder: string): EncoderCard {
  const parsed = cardSchema.safeParse(JSON.parse(readFileSync(`${folder}/encoder.json`, 'utf8')));
  if (!parsed.success) throw JudgeError.EAR_UNREADABLE({ reason: 'encoder.json has another format' });
  return parsed.data;
}

/** Reads `encoder.json` and `encoder.bin`. Throws EAR_UNREADABLE. */
export function readEncoder(folder: string): EncoderFile {
  const { sizes, tokenizer, group, parts, digest } = readEncoderCard(folder);
  const bytes = readFileSync(`${folder}/encoder.bin`);
  if (createHash('sha256').update(bytes).digest('hex') !== digest)
    throw JudgeError.EAR_UNREADABLE({ reason: 'encoder.bin does not match encoder.json' });
  if (endianness() !== 'LE') throw JudgeError.EAR_UNREADABLE({ reason: 'this machine is big-endian' });
  const numbers = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  const named = new Map(parts.map((part) => [part.name, part]));
  const partOf = (name: string) => {
    const part = named.get(name);
    if (part === undefined) throw JudgeError.EAR_UNREADABLE({ reason: `encoder.json has no ${name}` });
    return part;
  };
  const vectors = new Map<string, Float32Array>();
  const vector = (name: string): Float32Array => {
    const { shape, at } = partOf(name);
    const found = vectors.get(name) ?? floatsAt(bytes, at, shape);
    vectors.set(name, found);
    return found;
  };
  const words = partOf('words');
  const scales = vector('words.scales');
  return {
    digest,
    sizes,
    tokenizer,
    vector,
    matrix: (name) => {
      const { shape, at } = partOf(name);
      const [outputs, inputs] = shape as [number, number];
      const scale = vector(`${name}.scales`);
      const fill = (target: Float32Array): void => {
        for (let output = 0; output < outputs; output += 1)
          for (let input = 0; input < inputs; input += 1)
            target[input * outputs + output] = numbers[at + output * inputs + input]! * scale[output]!;
      };
      return { inputs, outputs, fill };
    },
    embed: (id, row) => {
      for (let at = 0; at < sizes.hidden; at += 1) {
        const place = id * sizes.hidden + at;
        const pair = bytes[words.at + (place >> 1)]!;
        row[at] = ((place % 2 === 0 ? pair & 15 : pair >> 4) - 8) * scales[Math.floor(place / group)]!;
      }
    },
  };
}

function floatsAt(bytes: Buffer, at: number, shape: readonly number[]): Float32Array {
  const length = shape.reduce((product, size) => product * size, 1);
  const from = bytes.byteOffset + at;
  return new Float32Array(bytes.buffer.slice(from, from + length * Float32Array.BYTES_PER_ELEMENT));
}

import type { Random } from '../policy/model/random.ts';
import type { Tokenizer } from '../policy/text/tokenizer.ts';
import type { TokenBatch } from '../policy/train/pretraining.ts';
import { shuffle } from './dialogues/choose.ts';
import type { Message } from './dialogues/dialogue.ts';

/** One dialogue as ids; `mask[i]` is 1 where the assistant says `ids[i]`, else 0. */
export type Example = { readonly ids: readonly number[]; readonly mask: readonly number[] };

/**
 * Dialogues of similar length, padded at the end. Counts exclude padding: `seen` counts all tokens, `trained` those
 * that are trained.
 */
export type Batch = TokenBatch & {
  readonly mask: Float32Array;
  readonly trained: number;
  readonly seen: number;
};

/** Writes one conversation, calls and tools as the chat template renders them. */
export type NextConversation = (random: Random) => readonly Message[];

/** Encodes a conversation as the chat template does. The assistant's tokens are trained, `<|im_end|>` included. */
export function encodeMessages(tokenizer: Tokenizer, messages: readonly Message[]): Example {
  const ids: number[] = [];
  const mask: number[] = [];
  const add = (text: string, trained: 0 | 1): void => {
    for (const id of tokenizer.encode(text)) {
      ids.push(id);
      mask.push(trained);
    }
  };
  for (const { role, content } of messages) {
    add(`<|im_start|>${role}\n`, 0);
    add(`${content}<|im_end|>`, role === 'assistant' ? 1 : 0);
    add('\n', 0);
  }
  return { ids, mask };
}

type BatchOptions = {
  /** including padding */
  readonly tokensPerBatch: number;
  /** Number of dialogues that are sorted by length together, so that the rows of a batch have similar lengths. */
  readonly poolSize: number;
  /** Widths are multiples of this, to limit the number of shapes. */
  readonly widthStep: number;
  readonly paddingId: number;
  readonly next: NextConversation;
};

/** Yields batches without end. The random numbers determine their order. One row is one dialogue. */
export function* trainingBatches(
  tokenizer: Tokenizer,
  random: Random,
  options: BatchOptions,
): Generator<Batch> {
  for (;;) {
    const pool = Array.from({ length: options.poolSize }, () =>
      encodeMessages(tokenizer, options.next(random)),
    );
    yield* shuffle(random, cut(pool, options));
  }
}

function cut(pool: readonly Example[], options: BatchOptions): readonly Batch[] {
  const sorted = pool.toSorted((a, b) => b.ids.length - a.ids.length);
  const batches: Batch[] = [];
  for (let start = 0; start < sorted.length; ) {
    const width = Math.ceil(sorted[start]!.ids.length / options.widthStep) * options.widthStep;
    const rows = Math.max(1, Math.floor(options.tokensPerBatch / width));
    batches.push(pad(sorted.slice(start, start + rows), width, options.paddingId));
    start += rows;
  }
  return batches;
}

function pad(examples: readonly Example[], width: number, paddingId: number): Batch {
  const positions = width - 1;
  const tokens = new Int32Array(examples.length * width).fill(paddingId);
  const mask = new Float32Array(examples.length * positions);
  examples.forEach((example, row) => {
    tokens.set(example.ids, row * width);
    mask.set(example.mask.slice(1), row * positions);
  });
  return {
    tokens,
    batch: examples.length,
    positions,
    mask,
    trained: mask.reduce((sum, weight) => sum + weight, 0),
    seen: examples.reduce((sum, { ids }) => sum + ids.length, 0),
  };
}

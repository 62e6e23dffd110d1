import type { Random } from '../random.ts';
import type { Tokenizer } from '../tokenizer.ts';
import { shuffle } from './dialogues/choose.ts';
import { type Dialogue, dialogueMessages, generateDialogue } from './dialogues/dialogue.ts';

/** One dialogue as ids; `weights[i]` is what the prediction of `ids[i]` counts in the loss. */
export type Example = { readonly ids: readonly number[]; readonly weights: readonly number[] };

/** Rows of one width, padded at the end. */
export type Batch = {
  readonly rows: number;
  readonly width: number;
  /** [rows, width] */
  readonly ids: Int32Array;
  /** [rows, width]; 0 on padding. */
  readonly weights: Float32Array;
  /** Ids without padding. */
  readonly tokens: number;
};

/** Words of the user and of the system count a little: they teach the language without drawing away the capacity. */
const contextWeight = 0.1;

/** What the assistant says, its `<|im_end|>` included, counts whole. The ids are those of the chat template. */
export function encodeDialogue(tokenizer: Tokenizer, dialogue: Dialogue): Example {
  const ids: number[] = [];
  const weights: number[] = [];
  const add = (text: string, weight: number): void => {
    for (const id of tokenizer.encode(text)) {
      ids.push(id);
      weights.push(weight);
    }
  };
  for (const { role, content } of dialogueMessages(dialogue)) {
    add(`<|im_start|>${role}\n`, 0);
    add(`${content}<|im_end|>`, role === 'assistant' ? 1 : contextWeight);
    add('\n', 0);
  }
  weights[0] = 0; // nothing predicts the first token
  return { ids, weights };
}

export type BatchOptions = {
  /** Ids in a batch, padding included. */
  readonly tokensPerBatch: number;
  /** Dialogues that are sorted by length together, so that rows of a batch are about as long. */
  readonly poolSize: number;
  /** Widths are multiples of this, so that few shapes occur. */
  readonly widthStep: number;
  readonly paddingId: number;
};

/** Batches without end, in an order that follows from the source of numbers. One row is one dialogue. */
export function* trainingBatches(
  tokenizer: Tokenizer,
  random: Random,
  options: BatchOptions,
): Generator<Batch> {
  for (;;) {
    const pool = Array.from({ length: options.poolSize }, () =>
      encodeDialogue(tokenizer, generateDialogue(random)),
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
  const ids = new Int32Array(examples.length * width).fill(paddingId);
  const weights = new Float32Array(examples.length * width);
  examples.forEach((example, row) => {
    ids.set(example.ids, row * width);
    weights.set(example.weights, row * width);
  });
  const tokens = examples.reduce((sum, example) => sum + example.ids.length, 0);
  return { rows: examples.length, width, ids, weights, tokens };
}

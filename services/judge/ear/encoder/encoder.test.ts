import { readFileSync } from 'node:fs';
import { Tokenizer } from '@huggingface/tokenizers';
import { expect, test } from 'vitest';
import { openWasm } from '../../../../shared/policy/executors/wasm.ts';
import { earFolder } from '../read-ear.ts';
import { createEncoder } from './encoder.ts';
import { readEncoder } from './read-encoder.ts';

type Reference = {
  readonly text: string;
  /** with the marks at its ends */
  readonly ids: readonly number[];
  readonly scores: readonly number[];
};

/** Computed by tokenizers and PyTorch with the same rounded weights (train.py). */
const references = readFileSync(new URL('reference.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Reference);

const file = readEncoder(earFolder);

const tokenizer = new Tokenizer(file.tokenizer, {});

test.each(references)('tokens as by the tokenizers of Python: $text', ({ text, ids }) => {
  expect(tokenizer.encode(text).ids).toEqual(ids);
});

test('the scores are those of PyTorch', async () => {
  const encoder = createEncoder(await openWasm(), file);
  for (const { text, scores } of references) {
    const read = encoder.read(text)!;
    for (const [column, score] of scores.entries())
      expect(Math.abs(read[column]! - score), `${text}, column ${column}`).toBeLessThan(2e-3);
  }
});

test('a text that is too long for a reaction is not read', async () => {
  const encoder = createEncoder(await openWasm(), file);
  expect(encoder.read('so '.repeat(file.sizes.positions - 2))).toBeDefined();
  expect(encoder.read('so '.repeat(file.sizes.positions - 1))).toBeUndefined();
  expect(encoder.read('incomprehensible '.repeat(40))).toBeUndefined();
});

import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { createRandom, type Random } from '../policy/model/random.ts';
import { loadChatTemplate } from '../policy/text/chat-template.ts';
import { loadTokenizer, type Tokenizer } from '../policy/text/tokenizer.ts';
import { encodeMessages, trainingBatches } from './batches.ts';
import { dialogueMessages, generateDialogue } from './dialogues/dialogue.ts';

const folder = fileURLToPath(new URL('./model', import.meta.url));
let tokenizer: Tokenizer;
beforeAll(async () => {
  tokenizer = await loadTokenizer(folder);
});

const next = (random: Random) => dialogueMessages(generateDialogue(random));

function firstOf<Value>(values: Iterator<Value>, count: number): readonly Value[] {
  return Array.from({ length: count }, () => values.next().value as Value);
}

test('training ids are those of the chat template', async () => {
  const template = await loadChatTemplate(folder);
  const random = createRandom('ids');
  for (let index = 0; index < 200; index++) {
    const dialogue = generateDialogue(random);
    const text = template.render({ messages: dialogueMessages(dialogue), addGenerationPrompt: false });
    expect(encodeMessages(tokenizer, dialogueMessages(dialogue)).ids).toEqual(tokenizer.encode(text));
  }
});

test("only the assistant's text and its end token are trained", () => {
  const dialogue = generateDialogue(createRandom('weights'));
  const { ids, mask } = encodeMessages(tokenizer, dialogueMessages(dialogue));
  const trained = ids.filter((_, index) => mask[index] === 1);
  expect(tokenizer.decode(trained)).toBe(dialogue.turns.map(({ answer }) => `${answer}<|im_end|>`).join(''));
});

test('four of five answers are within 70 tokens, all within 110', () => {
  const random = createRandom('lengths');
  const lengths = Array.from({ length: 2000 }, () => generateDialogue(random))
    .flatMap(({ turns }) => turns.map(({ answer }) => tokenizer.encode(answer).length))
    .sort((a, b) => a - b);
  expect(lengths[Math.floor(lengths.length * 0.8)]).toBeLessThanOrEqual(70);
  expect(lengths.at(-1)).toBeLessThanOrEqual(110);
});

test('batches have little padding, do not count it, and repeat with the seed', () => {
  const options = { tokensPerBatch: 2048, poolSize: 512, widthStep: 16, paddingId: 1021, next };
  const take = (seed: string, count: number) =>
    firstOf(trainingBatches(tokenizer, createRandom(seed), options), count);
  const batches = take('batches', 16);
  for (const { batch, positions, tokens, mask } of batches) {
    expect(tokens.length).toBe(batch * (positions + 1));
    expect((positions + 1) % 16).toBe(0);
    mask.forEach((weight, index) => {
      const target = tokens[index + Math.floor(index / positions) + 1];
      if (target === 1021) expect(weight).toBe(0);
    });
  }
  const seen = batches.reduce((sum, batch) => sum + batch.seen, 0);
  const cells = batches.reduce((sum, batch) => sum + batch.tokens.length, 0);
  expect(seen / cells).toBeGreaterThan(0.85);
  expect(take('batches', 16)).toEqual(batches);
});

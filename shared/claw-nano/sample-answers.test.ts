import { expect, test } from 'vitest';
import { createRandom } from '../policy/model/random.ts';
import { createChatTemplate } from '../policy/text/chat-template.ts';
import type { Tokenizer } from '../policy/text/tokenizer.ts';
import { type Speaker, sampleAnswers } from './sample-answers.ts';

const end = 9;
/** Counts down from the number in the prompt to 0, then ends. */
function countdown() {
  const running = new Set<number>();
  let free = 0;
  let most = 0;
  const logitsFor = (id: number): Float32Array =>
    Float32Array.from({ length: 10 }, (_, i) => (i === id ? 50 : 0));
  const decoder: Speaker['decoder'] = {
    admit(promptIds) {
      const slot = free++;
      running.add(slot);
      most = Math.max(most, running.size);
      return { slot, logits: logitsFor(promptIds[0]!) };
    },
    step: (entries) => entries.map(({ id }) => logitsFor(id === 0 ? end : id - 1)),
    release: (slot) => {
      running.delete(slot);
    },
  };
  return { decoder, running, most: () => most };
}

const tokenizer: Pick<Tokenizer, 'encode' | 'decode'> = {
  encode: (text) => [Number(text)],
  decode: (ids) => ids.join(''),
};

const template = createChatTemplate('{{ messages[0].content }}');
const options = { settings: { temperature: 0 }, random: createRandom(1), atOnce: 2, maxTokens: 4 };

test('answers keep the order of the questions and free their slots', () => {
  const { decoder, running, most } = countdown();
  const speaker = { decoder, tokenizer: tokenizer as Tokenizer, template, endIds: new Set([end]) };
  const ask = ['2', '0', '5', '1', '3'].map((content) => [{ role: 'user', content } as const]);
  expect(sampleAnswers(speaker, ask, options)).toEqual([
    { text: '210', ended: true },
    { text: '0', ended: true },
    { text: '5432', ended: false },
    { text: '10', ended: true },
    { text: '3210', ended: true },
  ]);
  expect(running.size).toBe(0);
  expect(most()).toBe(2);
});

import { trainTokenizer } from '../bpe-trainer.ts';
import { createRandom } from '../random.ts';
import { dialogueMessages, generateDialogue } from './dialogues/dialogue.ts';
import { specialTokens, vocabularySize } from './model-files.ts';

/** Dialogues that the tokenizer's merges are counted on. */
const dialogues = 6000;

/**
 * The tokenizer of claw-nano: the content of its `tokenizer.json`, made from the same dialogues as the
 * weights.
 */
export function makeTokenizer(seed: string): Readonly<Record<string, unknown>> {
  const random = createRandom(`${seed}/tokenizer`);
  const texts = Array.from({ length: dialogues }, () =>
    dialogueMessages(generateDialogue(random))
      .map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`)
      .join(''),
  );
  return trainTokenizer(texts, { vocabularySize, specialTokens });
}

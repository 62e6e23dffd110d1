import { createRandom } from '../policy/model/random.ts';
import { trainTokenizer } from '../policy/text/bpe-trainer.ts';
import { dialogueMessages, generateDialogue } from './dialogues/dialogue.ts';
import { specialTokens, vocabularySize } from './model-files.ts';

/** Number of dialogues that the tokenizer is trained on. */
const dialogues = 6000;

/** Trains the tokenizer of claw-nano on generated dialogues. Returns the content of `tokenizer.json`. */
export function makeTokenizer(seed: string): Readonly<Record<string, unknown>> {
  const random = createRandom(`${seed}/tokenizer`);
  const texts = Array.from({ length: dialogues }, () =>
    dialogueMessages(generateDialogue(random))
      .map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`)
      .join(''),
  );
  return trainTokenizer(texts, { vocabularySize, specialTokens });
}

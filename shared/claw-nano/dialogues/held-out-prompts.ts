import { createRandom } from '../../policy/model/random.ts';
import { heldOutAsks } from './ask.ts';
import { shuffle } from './choose.ts';

/** A request in a wording that no training dialogue contains. A good answer names some of the `facts`. */
export type HeldOutPrompt = {
  readonly text: string;
  readonly topic: string;
  readonly facts: readonly string[];
};

/** `count` different held-out requests in an order that depends on the seed. Throws RangeError if there are fewer. */
export function heldOutPrompts(seed: number | string, count: number): readonly HeldOutPrompt[] {
  if (count > heldOutAsks.length) {
    throw new RangeError(`there are ${heldOutAsks.length} held-out prompts, not ${count}`);
  }
  return shuffle(createRandom(`held-out/${seed}`), heldOutAsks)
    .slice(0, count)
    .map(({ topic, text }) => ({ text, topic: topic.id, facts: topic.entry.items }));
}

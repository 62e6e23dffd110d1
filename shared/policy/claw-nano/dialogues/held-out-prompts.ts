import { createRandom } from '../../random.ts';
import { heldOutAsks } from './ask.ts';
import { shuffle } from './choose.ts';

/** A request that no training dialogue holds in this wording; `facts` are the items that a good answer names some of. */
export type HeldOutPrompt = {
  readonly text: string;
  readonly topic: string;
  readonly facts: readonly string[];
};

/** `count` different held-out requests in an order that hangs on the seed. Throws RangeError when there are fewer. */
export function heldOutPrompts(seed: number | string, count: number): readonly HeldOutPrompt[] {
  if (count > heldOutAsks.length) {
    throw new RangeError(`there are ${heldOutAsks.length} held-out prompts, not ${count}`);
  }
  return shuffle(createRandom(`held-out/${seed}`), heldOutAsks)
    .slice(0, count)
    .map(({ topic, text }) => ({ text, topic: topic.id, facts: topic.entry.items }));
}

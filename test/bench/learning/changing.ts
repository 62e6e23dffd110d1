import { type Ask, sampleAsk } from '../../../shared/claw-nano/dialogues/ask.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { createRandom } from '../../../shared/policy/model/random.ts';
import { praise } from '../../e2e/demo/talk.ts';
import type { BenchTaste } from './tastes.ts';

/** Complaints about answers to one request before the person gives up. */
const PATIENCE = 2;
/** An answer that names fewer of the topic's items says nothing. */
const LEAST_ITEMS = 2;

export type ChangingPerson = {
  readonly seed: number;
  /** share of verdicts that are the opposite of what the person means */
  readonly falseVerdicts: number;
  /** whether answers without content are rejected too, whatever their form */
  readonly wantsContent: boolean;
};

/**
 * One session of a person with a taste, who may press the wrong button, and may ask for content.
 *
 * @returns whether the first answer met the taste
 */
export async function talkOnce(
  taste: Pick<BenchTaste, 'complaints'>,
  { seed, falseVerdicts, wantsContent }: ChangingPerson,
  session: number,
  reply: (messages: readonly ChatMessage[]) => Promise<string>,
): Promise<boolean> {
  const random = createRandom(`changing/${seed}/${session}`);
  const choose = (from: readonly string[]) => from[Math.floor(random() * from.length)]!;
  const ask = sampleAsk(random);
  const messages: ChatMessage[] = [{ role: 'user', content: ask.text }];
  let firstMet: boolean | undefined;
  for (let turn = 0; turn <= PATIENCE; turn++) {
    const answer = await reply(messages);
    const complaints = taste.complaints(answer);
    const met = complaints.length === 0;
    firstMet ??= met;
    const isEmpty = wantsContent && itemsNamed(ask, answer) < LEAST_ITEMS;
    const isFalse = random() < falseVerdicts;
    const pleased = (met && !isEmpty) !== isFalse;
    const said = pleased
      ? praise
      : complaints.length > 0
        ? complaints
        : ['That is wrong.', 'This is not what I asked.'];
    messages.push({ role: 'assistant', content: answer });
    messages.push({ role: 'user', content: choose(said) });
    if (pleased) break;
  }
  await reply(messages); // the loop sees the person's words only when they are sent
  return firstMet ?? false;
}

function itemsNamed({ topic }: Ask, answer: string): number {
  const words = answer.toLowerCase();
  return topic.entry.items.filter((item) => words.includes(item.toLowerCase())).length;
}

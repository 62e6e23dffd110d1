import { sampleAsk } from '../../../shared/claw-nano/dialogues/ask.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { createRandom } from '../../../shared/policy/model/random.ts';
import type { Taste } from './taste.ts';

/** Complaints about answers to one request before the person gives up. */
const PATIENCE = 2;

/** The praise for an answer that fits; a scripted person has only a few phrases. */
export const praise = [
  'Perfect, thanks!',
  'Great, exactly what I wanted. Thank you!',
  'Thanks, that is very helpful.',
];

/**
 * One session of a person with a taste: a request, comments on each answer, and thanks or a complaint at the end. All
 * words follow from the seed and the answers.
 *
 * @returns whether the first answer met the taste
 */
export async function talk(
  taste: Taste,
  { seed, session }: { readonly seed: number; readonly session: number },
  reply: (messages: readonly ChatMessage[]) => Promise<string>,
): Promise<boolean> {
  const random = createRandom(`person/${seed}/${session}`);
  const choose = (from: readonly string[]) => from[Math.floor(random() * from.length)]!;
  const messages: ChatMessage[] = [{ role: 'user', content: sampleAsk(random).text }];
  let firstMet: boolean | undefined;
  for (let turn = 0; turn <= PATIENCE; turn++) {
    const answer = await reply(messages);
    const complaints = taste.complaints(answer);
    const met = complaints.length === 0;
    firstMet ??= met;
    messages.push({ role: 'assistant', content: answer });
    messages.push({ role: 'user', content: choose(met ? praise : complaints) });
    if (met) break;
  }
  await reply(messages); // the loop sees the person's words only when they are sent
  return firstMet ?? false;
}

import type OpenAI from 'openai';
import { sampleAsk } from '../../../shared/policy/claw-nano/dialogues/ask.ts';
import { createRandom } from '../../../shared/policy/random.ts';
import { checkTaste } from './taste.ts';

/** What the person says to an answer; a scripted person has only a few phrases. */
const praise = [
  'Perfect, thanks!',
  'Great, exactly what I wanted. Thank you!',
  'Thanks, that is very helpful.',
];
const complaints = {
  list: ['Please do not use lists, write sentences.', 'No lists, please.', 'I do not like lists.'],
  greeting: [
    'Please skip the greeting.',
    'No greeting, please. Just answer.',
    'I do not like being greeted.',
  ],
  both: ['No greeting and no lists, please.', 'Please do not greet me, and do not use lists.'],
};
/** Of an answer that still does not fit, a person complains this often and then gives up. */
const PATIENCE = 2;

export type SessionReport = {
  readonly firstReplyMet: boolean;
  readonly replies: number;
  readonly versions: readonly number[];
  readonly failures: number;
};

export type Person = { readonly chat: (session: number) => Promise<SessionReport> };

/**
 * A person with a taste who chats through a stock client and reacts only in words. Everything follows from
 * the seed.
 */
export function createPerson(client: OpenAI, seed: number): Person {
  const chat = async (session: number): Promise<SessionReport> => {
    const random = createRandom(`person/${seed}/${session}`);
    const choose = (from: readonly string[]) => from[Math.floor(random() * from.length)]!;
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: sampleAsk(random).text }];
    const versions: number[] = [];
    let failures = 0;
    let firstReplyMet: boolean | undefined;
    const reply = async (): Promise<string> => {
      const { text, version, failed } = await streamReply(client, messages);
      if (failed) failures += 1;
      if (version !== undefined) versions.push(version);
      messages.push({ role: 'assistant', content: text });
      return text;
    };
    for (let turn = 0; turn <= PATIENCE; turn++) {
      const verdict = checkTaste(await reply());
      firstReplyMet ??= verdict.met;
      const kind = verdict.list && verdict.greeting ? 'both' : verdict.list ? 'list' : 'greeting';
      messages.push({ role: 'user', content: choose(verdict.met ? praise : complaints[kind]) });
      if (verdict.met) break;
    }
    await reply(); // what the person said is only seen by the loop when it is sent
    return { firstReplyMet: firstReplyMet ?? false, replies: versions.length, versions, failures };
  };
  return { chat };
}

/** One streamed answer. A crashed endpoint is asked again, as any client would. */
async function streamReply(client: OpenAI, messages: readonly OpenAI.ChatCompletionMessageParam[]) {
  let text = '';
  let version: number | undefined;
  let finished = false;
  let failed = false;
  try {
    const stream = await client.chat.completions.create({
      model: 'clawloop',
      messages: [...messages],
      stream: true,
      max_tokens: 120,
    });
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      finished ||= chunk.choices[0]?.finish_reason != null;
      version = (chunk as { clawloop?: { version?: number } }).clawloop?.version ?? version;
    }
  } catch {
    failed = true;
  }
  return { text, version, failed: failed || !finished };
}

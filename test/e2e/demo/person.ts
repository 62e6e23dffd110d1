import type OpenAI from 'openai';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { talk } from './talk.ts';
import { plainAnswer } from './taste.ts';

export type SessionReport = {
  readonly firstReplyMet: boolean;
  readonly replies: number;
  readonly versions: readonly number[];
  readonly failures: number;
};

export type Person = { readonly chat: (session: number) => Promise<SessionReport> };

/**
 * A person with a taste who chats through a standard client and reacts only in words. Everything follows from the seed.
 */
export function createPerson(client: OpenAI, seed: number): Person {
  const chat = async (session: number): Promise<SessionReport> => {
    const versions: number[] = [];
    let failures = 0;
    const firstReplyMet = await talk(plainAnswer, { seed, session }, async (messages) => {
      const { text, version, failed } = await streamReply(client, messages);
      if (failed) failures += 1;
      if (version !== undefined) versions.push(version);
      return text;
    });
    return { firstReplyMet, replies: versions.length, versions, failures };
  };
  return { chat };
}

/** One streamed answer. The request is retried after a crash of the endpoint, as by any client. */
async function streamReply(client: OpenAI, messages: readonly ChatMessage[]) {
  let text = '';
  let version: number | undefined;
  let finished = false;
  let failed = false;
  try {
    const stream = await client.chat.completions.create({
      model: 'clawloop',
      messages: [...messages] as OpenAI.ChatCompletionMessageParam[],
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

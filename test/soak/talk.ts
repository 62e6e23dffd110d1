import OpenAI from 'openai';
import { sampleAsk } from '../../shared/claw-nano/dialogues/ask.ts';
import { createRandom } from '../../shared/policy/model/random.ts';

const reactions = [
  'Perfect, thanks!',
  'No lists, please.',
  'Great, thank you!',
  'Please skip the greeting.',
] as const;

/** What went wrong in an exchange, if anything; versions of its two answers. */
export type Exchange = { readonly failures: readonly string[]; readonly versions: readonly number[] };

/**
 * A person who asks, streamed, and reacts in words: two requests, one judged turn. What is said follows from
 * seed and index.
 */
export function createTalker(url: string, seed: string, maxTokens: number) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0, timeout: 10 * 60_000 });
  return async (index: number): Promise<Exchange> => {
    const random = createRandom(`${seed}/${index}`);
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: sampleAsk(random).text }];
    const failures: string[] = [];
    const versions: number[] = [];
    for (const words of [reactions[index % reactions.length]!, undefined]) {
      try {
        const { text, version } = await answer(client, messages, maxTokens);
        if (version !== undefined) versions.push(version);
        messages.push({ role: 'assistant', content: text });
      } catch (error) {
        failures.push((error as Error).message);
        break;
      }
      if (words !== undefined) messages.push({ role: 'user', content: words });
    }
    return { failures, versions };
  };
}

async function answer(
  client: OpenAI,
  messages: readonly OpenAI.ChatCompletionMessageParam[],
  maxTokens: number,
) {
  const stream = await client.chat.completions.create({
    model: 'clawloop',
    messages: [...messages],
    stream: true,
    max_tokens: maxTokens,
  });
  let text = '';
  let version: number | undefined;
  let finished = false;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? '';
    finished ||= chunk.choices[0]?.finish_reason != null;
    version = (chunk as { clawloop?: { version?: number } }).clawloop?.version ?? version;
  }
  if (!finished) throw new Error('the stream ended without a finish_reason');
  return { text, version };
}

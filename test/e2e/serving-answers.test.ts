import type OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { referencePath } from '../../shared/policy/testing/reference-fixtures.ts';
import { loadPromptWriter } from '../../shared/policy/text/load-prompt-writer.ts';
import { servingForSuite } from './serving-process.ts';

const user = (content: string) => ({ role: 'user', content }) as const;
type Marked = { readonly clawloop?: { readonly version: number; readonly recorded: boolean } };
const writeAgain = async (messages: readonly ChatMessage[]): Promise<readonly number[]> => {
  const write = await loadPromptWriter(referencePath('models/qwen3-tiny'));
  return write({ messages, tools: [], variables: {} });
};

describe('answers, as the official client sees them', () => {
  const on = servingForSuite(['--backend', 'auto']);

  test('an answer is sent whole, and its record contains the sampled tokens', async () => {
    const { data: answer, response } = await on.serving.client.chat.completions
      .create({ model: 'qwen3-4b', messages: [user('hello')], max_tokens: 8, temperature: 0.8 })
      .withResponse();
    expect(answer.object).toBe('chat.completion');
    expect(answer.usage!.total_tokens).toBe(answer.usage!.prompt_tokens + answer.usage!.completion_tokens);
    expect((answer as Marked).clawloop).toEqual({ version: 0, recorded: true });
    expect(response.headers.get('x-clawloop-version')).toBe('0');
    const fact = await on.folder.interaction(answer.id);
    expect(fact).toMatchObject({
      live: true,
      version: 0,
      engine: 'local',
      model: 'qwen3-4b',
      messages: [user('hello')],
      answer: { role: 'assistant', content: answer.choices[0]!.message.content },
      sampling: { temperature: 0.8, topP: 0.8, topK: 20, maxTokens: 8 },
      finishReason: answer.choices[0]!.finish_reason,
      disconnected: false,
    });
    expect(fact.tokens!.responseIds).toHaveLength(answer.usage!.completion_tokens);
    expect(fact.tokens!.logProbs).toHaveLength(answer.usage!.completion_tokens);
    expect(fact.tokens!.promptIds).toHaveLength(answer.usage!.prompt_tokens);
    expect(fact.tokens!.effectiveTemperature).toBe(0.8);
  });

  test('with the same seed, a stream has the same content as the whole answer', async () => {
    const request = { model: 'clawloop', messages: [user('tell me more')], max_tokens: 24, seed: 7 };
    const whole = await on.serving.client.chat.completions.create({
      ...request,
      logprobs: true,
      top_logprobs: 2,
    });
    const stream = await on.serving.client.chat.completions.create({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
      logprobs: true,
      top_logprobs: 2,
    });
    let text = '';
    const logProbs: OpenAI.Chat.ChatCompletionTokenLogprob[] = [];
    const finishes: (string | null)[] = [];
    let last: OpenAI.Chat.ChatCompletionChunk | undefined;
    let mark: Marked['clawloop'];
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      logProbs.push(...(chunk.choices[0]?.logprobs?.content ?? []));
      if (chunk.choices[0] !== undefined) finishes.push(chunk.choices[0].finish_reason);
      mark ??= (chunk as Marked).clawloop;
      last = chunk;
    }
    expect(text).toBe(whole.choices[0]!.message.content);
    expect(logProbs).toEqual(whole.choices[0]!.logprobs!.content);
    expect(logProbs.every(({ top_logprobs }) => top_logprobs.length === 2)).toBe(true);
    expect(finishes.slice(0, -1).every((reason) => reason === null)).toBe(true);
    expect(finishes.at(-1)).toBe(whole.choices[0]!.finish_reason);
    expect(last!.choices).toEqual([]);
    expect(last!.usage).toEqual(whole.usage);
    expect(mark).toEqual({ version: 0, recorded: true });
  });

  test('a stop string ends the answer and is not shown', async () => {
    const request = { model: 'clawloop', messages: [user('count')], max_tokens: 40, seed: 3 };
    const free = (await on.serving.client.chat.completions.create(request)).choices[0]!.message.content!;
    const stop = free.slice(Math.floor(free.length / 2), Math.floor(free.length / 2) + 3);
    const cut = await on.serving.client.chat.completions.create({ ...request, stop });
    expect(cut.choices[0]!.message.content).toBe(free.slice(0, free.indexOf(stop)));
    expect(cut.choices[0]!.finish_reason).toBe('stop');
  });

  test('max_tokens beyond the context is clamped, and a prompt beyond it is cut; both are recorded', async () => {
    const short = await on.serving.client.chat.completions.create({
      model: 'clawloop',
      messages: [user('hi')],
      max_completion_tokens: 100_000,
      temperature: 2,
      seed: 1,
    });
    const clamped = await on.folder.interaction(short.id);
    expect(clamped.sampling.askedMaxTokens).toBe(100_000);
    expect(clamped.sampling.maxTokens).toBe(512 - short.usage!.prompt_tokens);
    const long = await on.serving.client.chat.completions.create({
      model: 'clawloop',
      messages: [{ role: 'system', content: 'many words '.repeat(400) }, user('the last words stay')],
      max_tokens: 4,
    });
    const cut = await on.folder.interaction(long.id);
    expect(cut.windowCut!.systemCharacters).toBeGreaterThan(0);
    // the policy's prompt can be rendered again
    const { messages } = cut.templateInput!;
    expect(await writeAgain(messages!)).toEqual(cut.tokens!.promptIds);
    expect(clamped).not.toHaveProperty('templateInput');
    expect(await writeAgain(clamped.messages)).toEqual(clamped.tokens!.promptIds);
    expect(long.usage!.prompt_tokens).toBeLessThanOrEqual(508);
  });

  test('penalties are applied, and make the turn untrainable by name', async () => {
    const answer = await on.serving.client.chat.completions.create({
      model: 'clawloop',
      messages: [user('again')],
      max_tokens: 6,
      temperature: 0,
      logit_bias: { 65: 100 },
    });
    const fact = await on.folder.interaction(answer.id);
    expect(fact.tokens!.responseIds).toEqual([65, 65, 65, 65, 65, 65]);
    expect(fact.untrainable).toBe('penalties');
    expect(fact.tokens).toMatchObject({ greedy: true, effectiveTemperature: 1 });
  });

  test('the base policy and pinned versions answer, and are not live', async () => {
    const base = await on.serving.client.chat.completions.create({
      model: 'clawloop@base',
      messages: [user('hello')],
      max_tokens: 2,
    });
    expect((await on.folder.interaction(base.id)).live).toBe(false);
    const names = (await on.serving.client.models.list()).data.map(({ id }) => id);
    expect(names).toEqual(['clawloop', 'clawloop@base']);
    expect((await on.serving.client.models.retrieve('@base')).id).toBe('@base');
    const missing = on.serving.client.chat.completions.create({ model: '@v99', messages: [user('hello')] });
    await expect(missing).rejects.toMatchObject({ status: 404, code: 'model_not_found', param: 'model' });
  });
});

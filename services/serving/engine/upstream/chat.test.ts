import { expect, test } from 'vitest';
import type { GenerationRequest } from '../../generation.ts';
import { type ChatDialectSetup, chatDialect } from './chat.ts';
import type { ModelLease } from './models.ts';

const request: GenerationRequest = {
  target: { kind: 'live', adapter: 'default' },
  messages: [{ role: 'user', content: 'hi' }],
  tools: [],
  templateVariables: {},
  choices: 1,
  sampling: { stop: [], frequencyPenalty: 0, presencePenalty: 0, repetitionPenalty: 1, logitBias: [] },
};
const lease = (names: Pick<ModelLease, 'model' | 'answersAs'>): ModelLease => ({
  version: 0,
  release: () => {},
  lost: () => {},
  ...names,
});
const openai: ChatDialectSetup = {
  url: 'http://there/v1',
  logProbs: 'none',
  tokenIds: false,
  allSettings: false,
  namesModel: true,
};
const vllm: ChatDialectSetup = {
  ...openai,
  logProbs: 'raw',
  tokenIds: true,
  allSettings: true,
  hidesCalls: true,
  strictForcedCalls: true,
  renamesReasoning: true,
};
const bodyOf = async (setup: ChatDialectSetup, more: Partial<GenerationRequest>) => {
  const dialect = chatDialect(setup);
  const { body } = await dialect.prepare({ ...request, ...more }, lease({ model: 'm' }));
  return JSON.parse(String(body)) as Readonly<Record<string, unknown>>;
};

test('vLLM gets reasoning under its newer name, and no limit to a single call', async () => {
  const messages = [
    ...request.messages,
    { role: 'assistant', content: 'hello', reasoning_content: 'Hm.' } as const,
    { role: 'user', content: 'and?' } as const,
  ];
  expect((await bodyOf(vllm, { messages })).messages).toEqual([
    messages[0],
    { ...messages[1], reasoning: 'Hm.' },
    messages[2],
  ]);
  expect((await bodyOf(openai, { messages })).messages).toEqual(messages);
  expect(await bodyOf(openai, { singleCall: true })).toMatchObject({ parallel_tool_calls: false });
  expect(await bodyOf(vllm, { singleCall: true })).not.toHaveProperty('parallel_tool_calls');
  const forced = await bodyOf(vllm, { singleCall: true, forcedCall: ['look'] });
  expect(forced).toMatchObject({ parallel_tool_calls: false });
});

test('vLLM gets a strict object schema for a forced call', async () => {
  const tool = (name: string, more: object) => ({ type: 'function', function: { name, ...more } });
  const schema = { type: 'object', required: ['city'] };
  const tools = [tool('look', { parameters: schema, strict: false }), tool('atEnd', {}), tool('other', {})];
  const forced = await bodyOf(vllm, { tools, forcedCall: ['look', 'atEnd'] });
  expect(forced.tools).toEqual([
    tool('look', { parameters: schema, strict: true }),
    tool('atEnd', { parameters: { type: 'object' }, strict: true }),
    tools[2],
  ]);
  expect((await bodyOf(vllm, { tools })).tools).toEqual(tools);
  expect((await bodyOf(openai, { tools, forcedCall: ['look'] })).tools).toEqual(tools);
});

test('the cache is separated by a salt; without one, cached tokens are not reported', async () => {
  const salted = { cacheSalt: 'of-ann' };
  expect(await bodyOf({ ...vllm, saltField: 'cache_salt' }, salted)).toMatchObject({ cache_salt: 'of-ann' });
  expect(await bodyOf({ ...vllm, saltField: 'extra_key' }, salted)).toMatchObject({ extra_key: 'of-ann' });
  expect(await bodyOf({ ...vllm, saltField: 'cache_salt' }, {})).not.toHaveProperty('cache_salt');
  expect(await bodyOf(openai, salted)).not.toHaveProperty('cache_salt');
  const usage = { prompt_tokens: 90, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 64 } };
  const cachedOf = async (setup: ChatDialectSetup, more: Partial<GenerationRequest>) => {
    const { read, choices } = await chatDialect(setup).prepare(
      { ...request, ...more },
      lease({ model: 'm' }),
    );
    read(JSON.stringify({ choices: [{ delta: { content: 'a' }, finish_reason: 'stop' }], usage }));
    return choices(false)[0]!.generated.usage.cachedPromptTokens;
  };
  expect(await cachedOf({ ...vllm, saltField: 'cache_salt' }, salted)).toBe(64);
  expect(await cachedOf(openai, {})).toBe(64);
  expect(await cachedOf(openai, salted)).toBeUndefined();
});

test('a base model with several names answers under its first name', async () => {
  const reasonOf = async (names: Pick<ModelLease, 'model' | 'answersAs'>) => {
    const { read, choices } = await chatDialect(vllm).prepare(request, lease(names));
    read(JSON.stringify({ model: 'first', choices: [{ delta: { content: 'a' }, finish_reason: 'stop' }] }));
    return choices(false)[0]!.generated.untrainable;
  };
  expect(await reasonOf({ model: 'second', answersAs: 'first' })).toBe('no-token-ids');
  expect(await reasonOf({ model: 'second' })).toBe('mixed-versions');
});

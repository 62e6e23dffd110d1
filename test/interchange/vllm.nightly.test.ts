import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CLAW_NANO, modelFolder } from '../../shared/policy/model/model-folder.ts';
import { until } from '../e2e/harness/clawloop.ts';
import { loopOnFolder } from '../e2e/harness/loop-on-folder.ts';
import { type RealVllm, startVllm } from './real-vllm.ts';

// The real vLLM generates, on the CPU, with claw-nano: what is said there is judged and trained here, and comes
// back as an adapter there.

type Marked = { readonly clawloop: { readonly version: number } };

const LIMIT_MS = 5 * 60_000;
const base = modelFolder(CLAW_NANO);
const question = { role: 'user', content: 'How do I pack for a weekend trip?' } as const;

let vllm: RealVllm;
let client: OpenAI;
afterAll(() => vllm?.kill()); // after the loop
const on = loopOnFolder();
beforeAll(async () => {
  vllm = await startVllm(base);
  await on.start(
    '--serving-engine',
    'upstream',
    '--serving-upstream-kind',
    'vllm',
    '--serving-upstream-url',
    vllm.root,

    '--serving-upstream-sampling',
    'plain',
    '--serving-kept-versions',
    '0',
    '--collector-batch-size',
    '2',
  );
  client = new OpenAI({ baseURL: `${on.loop.url}/v1`, apiKey: 'none', maxRetries: 0 });
});

const ask = async (
  messages: OpenAI.ChatCompletionMessageParam[] = [question],
  more: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming> & Readonly<Record<string, unknown>> = {},
) => {
  const answer = await client.chat.completions.create({
    model: 'clawloop',
    messages,
    max_tokens: 60,
    temperature: 1,
    ...more,
  });
  return { ...answer, version: (answer as unknown as Marked).clawloop.version };
};
const greedy = (model = 'clawloop') => ask([question], { model, temperature: 0, logprobs: true });
const textOf = ({ choices }: Awaited<ReturnType<typeof ask>>) => choices[0]!.message.content!;
const logProbsOf = ({ choices }: Awaited<ReturnType<typeof ask>>) =>
  choices[0]!.logprobs!.content!.map(({ logprob }) => logprob);

const reactions = ['Perfect, thanks!', 'No lists, please.', 'Great, thank you!', 'Please skip the greeting.'];
/** People ask, and say what they think of the answer, until so many versions answer. */
async function teach(least: number): Promise<void> {
  let place = 0;
  const converse = async () => {
    const topic = { role: 'user', content: `How do I pack for trip ${place} of ${least}?` } as const;
    const answer = await ask([topic]);
    const reaction = reactions[place++ % reactions.length]!;
    await ask([topic, { role: 'assistant', content: textOf(answer) }, { role: 'user', content: reaction }]);
    return answer.version >= least;
  };
  await until(`version ${least} answers`, converse, LIMIT_MS);
}
const adapters = async () => (await vllm.models()).filter((name) => name !== base);

test('chats become versions, these adapters there, which answer the next chats', async () => {
  const before = await greedy();
  expect(before.version).toBe(0);
  await teach(2);
  expect((await greedy('clawloop@base')).choices).toEqual(before.choices);
  const pinned = await greedy('clawloop@v1');
  expect(pinned.version).toBe(1);
  expect(logProbsOf(pinned)).not.toEqual(logProbsOf(before));
  await until(
    'v1 is unloaded',
    async () => !(await adapters()).some((name) => name.includes('-v1-')),
    LIMIT_MS,
  );
});

test('its tokens are those of the template here, and its log-probs those that the trainer computes', async () => {
  const shown = await on.run('policy', 'show', '1'); // all of its samples are of the version before
  const figure = (name: string) => Number(new RegExp(`^${name} +(\\S+)$`, 'm').exec(shown)?.[1]);
  expect(figure('templateDrift')).toBe(0);
  expect(figure('logProbDriftMax')).toBeLessThan(1e-4); // nats; both compute in f32
  expect(await on.run('replay')).toMatch(/ 0 different, 0 not covered/);
  expect(await on.run('audit')).toMatch(/balances/);
});

const digit = { type: 'integer', minimum: 1, maximum: 9 };
const closed = { additionalProperties: false };

test('what a chat may ask for is honoured there, or refused', async () => {
  const { choices, usage } = await ask([question], { n: 2, logprobs: true, top_logprobs: 2 });
  expect(choices.map(({ index }) => index)).toEqual([0, 1]);
  expect(choices.flatMap(({ logprobs }) => logprobs!.content!).length).toBe(usage!.completion_tokens);
  expect(choices[0]!.logprobs!.content![0]!.top_logprobs.length).toBeGreaterThanOrEqual(2);
  const [once, again] = [await ask([question], { seed: 5 }), await ask([question], { seed: 5 })];
  if (once.version === again.version) expect(textOf(again)).toBe(textOf(once));
  const [first] = textOf(await greedy('clawloop@base'));
  const stopped = await ask([question], { model: 'clawloop@base', temperature: 0, stop: [first!] });
  expect([textOf(stopped), stopped.choices[0]!.finish_reason]).toEqual(['', 'stop']);
  expect(textOf(await ask([question], { structured_outputs: { regex: '[0-9]{3}' } }))).toMatch(/^[0-9]{3}$/);
  const schema = { type: 'object', properties: { days: digit }, required: ['days'], ...closed };
  const json_schema = { name: 'trip', strict: true, schema };
  const document = await ask([question], { response_format: { type: 'json_schema', json_schema } });
  expect(JSON.parse(textOf(document)).days).toBeGreaterThan(0);
  const long = ask([{ role: 'user', content: 'pack '.repeat(6_000) }]);
  await expect(long).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
});

test('a call that has to come has the arguments of its schema, and an object where there is none', async () => {
  const parameters = { type: 'object', properties: { days: digit }, required: ['days'], ...closed };
  for (const [name, more] of [
    ['weather', { parameters }],
    ['rest', { parameters: closed }],
  ] as const) {
    const tool = { type: 'function', function: { name, ...more } } as const;
    for (const tool_choice of [{ type: 'function', function: { name } }, 'required'] as const) {
      const { choices } = await ask([question], { tools: [tool], tool_choice, max_tokens: 200 });
      const [call] = choices[0]!.message.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[];
      expect(call!.function.name).toBe(name);
      const given = JSON.parse(call!.function.arguments) as Readonly<Record<string, unknown>>;
      expect(Object.keys(given)).toEqual(name === 'weather' ? ['days'] : []);
    }
  }
  expect(await on.run('turns', 'list', '--why')).toMatch(/not trained: constrained/);
});

test('tokens are counted as it counts them', async () => {
  const anthropic = new Anthropic({ baseURL: on.loop.url, apiKey: 'none', maxRetries: 0 });
  const asked = { model: 'clawloop', messages: [question], system: 'Be kind.' };
  const { input_tokens: counted } = await anthropic.messages.countTokens(asked);
  const { usage } = await anthropic.messages.create({ ...asked, max_tokens: 5 });
  expect(usage.input_tokens).toBe(counted);
});

test('a client that goes away ends the request there', async () => {
  const running = () => vllm.metric('vllm:num_requests_running');
  const stop = new AbortController();
  const stream = await client.chat.completions.create(
    { model: 'clawloop', messages: [question], max_tokens: 1_900, logit_bias: { 1023: -100 }, stream: true },
    { signal: stop.signal },
  );
  for await (const chunk of stream) {
    if (!chunk.choices[0]?.delta.content) continue;
    await until('it runs there', async () => (await running()) > 0);
    stop.abort();
  }
  await until('nothing runs there', async () => (await running()) === 0);
});

test('killed and started again it has no adapters: they are loaded anew, and answer', async () => {
  expect(await on.run('learning', 'pause')).toMatch(/paused/);
  await until('no step is open', async () => !/ training/.test(await on.run('policy', 'list')));
  const [, head] = /^v(\d+) .* head\b/m.exec(await on.run('policy', 'list'))!;
  const before = await until('the head answers', async () => {
    const answer = await greedy();
    return answer.version === Number(head) && answer;
  });
  await vllm.kill();
  await vllm.start();
  await until('serving is ready', async () => (await fetch(`${on.loop.url}/readyz`)).ok, LIMIT_MS);
  const after = await greedy();
  expect([after.version, textOf(after)]).toEqual([before.version, textOf(before)]);
  expect((await adapters()).some((name) => name.includes(`-v${head}-`))).toBe(true);
});

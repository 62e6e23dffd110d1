import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { shopAnswer, shopTools } from '../../examples/tool-calls/tools.ts';
import { trainedQuestions } from '../../shared/claw-nano/tools/shop.ts';
import { until } from './harness/clawloop.ts';
import { loopOnFolder } from './harness/loop-on-folder.ts';

type Message = OpenAI.ChatCompletionMessageParam;
type Ready = { readonly sampleId: string; readonly verdict: number; readonly carried?: number };

const on = loopOnFolder(['--model', 'claw-nano-tools', '--collector-batch-size', '64']);

const tools = shopTools.map(({ name, description, argument }) => ({
  type: 'function' as const,
  function: {
    name,
    description,
    parameters: { type: 'object', properties: { [argument]: { type: 'string' } }, required: [argument] },
  },
}));

async function ask(messages: readonly Message[], seed: number) {
  const client = new OpenAI({ baseURL: `${on.loop.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const { id, choices } = await client.chat.completions.create({
    model: 'clawloop',
    messages: [...messages],
    tools,
    max_tokens: 60,
    seed,
  });
  return { id, message: choices[0]!.message };
}

/** The model calls tools in most cases, so that one of a few requests gets a call. */
async function askUntilCall(question: string) {
  for (let seed = 0; ; seed++) {
    const asked = await ask([{ role: 'user', content: question }], seed);
    const [call] = asked.message.tool_calls ?? [];
    if (call?.type === 'function') return { ...asked, call };
    expect(seed, 'requests without a tool call').toBeLessThan(20);
  }
}

const samplesOf = async (turnId: string): Promise<readonly Ready[]> =>
  (await on.run('topics', 'tail', 'training', '--type', 'sample.ready', '--json'))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { event: { data: Ready } }).event.data)
    .filter(({ sampleId }) => sampleId.replace(/~\d+$/, '') === turnId);

test('a thumb down on a praised answer takes the praise from its tool call, too, and the audit balances', async () => {
  const { text, tool, item } = trainedQuestions[0]!;
  const called = await askUntilCall(text);
  const result = shopAnswer(tool.name, item)!;
  const history: readonly Message[] = [
    { role: 'user', content: text },
    called.message,
    { role: 'tool', tool_call_id: called.call.id, content: result },
  ];
  const answered = await ask(history, 1);
  await ask([...history, answered.message, { role: 'user', content: 'Perfect, thanks!' }], 2);
  await until('the praise reaches the call', async () =>
    (await samplesOf(called.id)).some(({ verdict, carried }) => verdict === 0.7 && carried === 1),
  );

  await fetch(`${on.loop.url}/v1/feedback`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ completion_id: answered.id, rating: 'down' }),
  });
  await until('the thumb reaches the call', async () =>
    (await samplesOf(called.id)).some(({ verdict, carried }) => verdict === -0.7 && carried === 1),
  );
  expect(await on.run('audit')).toMatch(/balances/);
  expect(await on.run('audit', '--deep')).toMatch(/a rebuild gives the same events and rows/);
}, 180_000);

import OpenAI from 'openai';
import { beforeAll, describe, expect, test } from 'vitest';
import { until } from './harness/clawloop.ts';
import { loopOnFolder } from './harness/loop-on-folder.ts';

type Listed = {
  readonly turnId: string;
  readonly score?: number;
  readonly source?: string;
  readonly stage: { readonly kind: string };
};

describe('people who react only with a thumb', () => {
  const on = loopOnFolder(['--collector-batch-size', '2']);
  let client: OpenAI;
  beforeAll(() => {
    client = new OpenAI({ baseURL: `${on.loop.url}/v1`, apiKey: 'none', maxRetries: 0 });
  });

  const ask = (words: string, before: readonly OpenAI.ChatCompletionMessageParam[] = [], seed = 7) =>
    client.chat.completions.create({
      model: 'clawloop',
      messages: [...before, { role: 'user', content: words }],
      max_tokens: 300,
      seed, // an answer that is cut off does not train
    });
  const rate = async (completion_id: string, rating: 'up' | 'down') => {
    const response = await fetch(`${on.loop.url}/v1/feedback`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ completion_id, rating }),
    });
    return (await response.json()) as Readonly<Record<string, unknown>>;
  };
  const turns = async () =>
    (await on.run('turns', 'list', '--json'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Listed);
  const turnOf = async (id: string) => (await turns()).find(({ turnId }) => turnId === id);

  test('a thumb on the last answer of a chat trains, even without later words', async () => {
    const questions = ['What is a good breakfast?', 'Why is the sky blue?', 'How do I knit?', 'Who is Ada?'];
    const rated: string[] = [];
    for (const [index, question] of questions.entries()) {
      const { id } = await ask(question);
      const rating = index % 2 === 0 ? 'down' : 'up';
      const score = rating === 'down' ? -1 : 1;
      expect(await rate(id, rating)).toMatchObject({ recorded: true, effect: 'verdict', score });
      rated.push(id);
    }
    await until(
      'two of them make a version',
      async () => /v1 +v0 +2/.test(await on.run('policy', 'list')),
      90_000,
    );
    const judged = (await turns()).filter(({ source }) => source === 'feedback');
    expect(judged.length).toBeGreaterThan(1);
    for (const { turnId, score } of judged) expect(score).toBe(rated.indexOf(turnId) % 2 === 0 ? -1 : 1);
  }, 120_000);

  test('an edit of the first message refuses the answer to the original', async () => {
    const named = { headers: { 'x-session-id': 'moss' } };
    const send = (content: string) =>
      client.chat.completions.create(
        { model: 'clawloop', messages: [{ role: 'user', content }], max_tokens: 300, seed: 7 },
        named,
      );
    const first = await send('How do I care for moss?');
    await send('How do I care for moss? Please answer without a list.');
    await until('it is judged', async () => (await turnOf(first.id))?.source === 'implicit');
    expect(await turnOf(first.id)).toMatchObject({ score: -0.25 });
  });

  test("a thumb outranks the judge's earlier praise", async () => {
    const first = await ask('How do I cook rice?');
    const answer = { role: 'assistant', content: first.choices[0]?.message.content ?? '' } as const;
    await ask('Perfect, thanks!', [{ role: 'user', content: 'How do I cook rice?' }, answer]);
    await until('the judge has judged it', async () => (await turnOf(first.id))?.source === 'votes');
    await rate(first.id, 'down');
    await until('the thumb stands', async () => (await turnOf(first.id))?.source === 'feedback');
    expect(await turnOf(first.id)).toMatchObject({ score: -1 });
  });

  test('the words after a thumb still bring their hint', async () => {
    const first = await ask('How do I plant a tree?');
    await rate(first.id, 'down');
    const answer = { role: 'assistant', content: first.choices[0]?.message.content ?? '' } as const;
    await ask('No lists, please.', [{ role: 'user', content: 'How do I plant a tree?' }, answer]);
    await until('the hint is a sample of its own', async () => {
      const samples = await on.run('topics', 'tail', 'training', '--type', 'sample.ready', '--json');
      return samples
        .trim()
        .split('\n')
        .map(
          (line) =>
            (JSON.parse(line) as { event: { data: { sampleId: string; hints: string[] } } }).event.data,
        )
        .some(({ sampleId, hints }) => sampleId === `${first.id}~1` && hints.length > 0);
    });
  });

  test('the audit balances, and a rebuild gives the same', async () => {
    expect(await on.run('audit')).toMatch(/balances/);
    expect(await on.run('audit', '--deep')).toMatch(/a rebuild gives the same events and rows/);
  });
});

import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { until } from './harness/clawloop.ts';
import { loopOnFolder } from './harness/loop-on-folder.ts';

describe('a candidate on canary', () => {
  const on = loopOnFolder(['--collector-batch-size', '6', '--collector-canary-share', '0.5']);

  /** One chat of its own: asks, rates the answer by the version that gave it, and tells that version. */
  const chat = async (n: number, rating: (version: number) => 'up' | 'down'): Promise<number | undefined> => {
    const client = new OpenAI({ baseURL: `${on.loop.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const { data: completion, response } = await client.chat.completions
      .create({
        model: 'clawloop',
        messages: [{ role: 'user', content: `What is a quick breakfast for day ${n}?` }],
        max_tokens: 300,
        seed: n,
      })
      .withResponse();
    const version = Number(response.headers.get('x-clawloop-version'));
    await fetch(`${on.loop.url}/v1/feedback`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ completion_id: completion.id, rating: rating(version) }),
    });
    return completion.choices[0]?.finish_reason === 'stop' ? version : undefined;
  };
  const events = async <Type extends ClawLoopEvent['type']>(type: Type) =>
    (await on.run('topics', 'tail', 'training', '--type', type, '--json'))
      .trim()
      .split('\n')
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as { event: Extract<ClawLoopEvent, { type: Type }> }).event);

  test('it answers a share of the chats, and is rejected when their verdicts are worse', async () => {
    let n = 0;
    for (let rated = 0; rated < 6; n++) rated += (await chat(n, () => 'up')) === undefined ? 0 : 1;
    await until('a canary starts', async () => (await events('policy.canary-started')).length > 0, 300_000);
    expect(await on.run('policy', 'list')).toMatch(/v1 +v0 +6 +canary, 50 % of the sessions/);
    const answered = new Set<number>();
    await until(
      'the verdicts decide',
      async () => {
        const version = await chat(n++, (by) => (by === 1 ? 'down' : 'up'));
        if (version !== undefined) answered.add(version);
        return (await events('policy.rejected')).length > 0;
      },
      600_000,
    );
    expect([...answered].sort()).toEqual([0, 1]);
    const [rejected] = await events('policy.rejected');
    expect(rejected!.data).toMatchObject({ reason: 'canary', figures: { badOfParent: 0, alpha: 0.01 } });
    expect(await events('policy.promoted')).toEqual([]);
    expect(await on.run('audit')).toMatch(/balances/);
    expect(await on.run('audit', '--deep')).toMatch(/a rebuild gives the same events and rows/);
  }, 1_200_000);
});

import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { until } from './harness/clawloop.ts';
import { loopOnFolder } from './harness/loop-on-folder.ts';

type RolledBack = Extract<ClawLoopEvent, { type: 'policy.rolled-back' }>;

describe('a version that its person dislikes', () => {
  // one batch of six samples, so that the verdicts on the next six answers all belong to version 1
  const on = loopOnFolder(['--collector-batch-size', '6']);

  const askAndRate = async (question: number, rating: 'up' | 'down'): Promise<number> => {
    const client = new OpenAI({ baseURL: `${on.loop.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const completion = await client.chat.completions.create({
      model: 'clawloop',
      messages: [{ role: 'user', content: `What is a quick breakfast for day ${question}?` }],
      max_tokens: 300,
      seed: question,
    });
    const response = await fetch(`${on.loop.url}/v1/feedback`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ completion_id: completion.id, rating }),
    });
    expect(await response.json()).toMatchObject({ recorded: true });
    const [choice] = completion.choices;
    // an answer that is cut short has no verdict
    return choice?.finish_reason === 'stop' ? 1 : 0;
  };
  const events = async <Type extends ClawLoopEvent['type']>(type: Type) =>
    (await on.run('topics', 'tail', 'training', '--type', type, '--json'))
      .trim()
      .split('\n')
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as { event: Extract<ClawLoopEvent, { type: Type }> }).event);
  const servedVersion = async () => (await events('policy.loaded')).at(-1)?.data.version ?? 0;

  test('verdicts alone roll it back, once, even if the collector is killed meanwhile', async () => {
    let question = 0;
    for (let rated = 0; rated < 6; ) rated += await askAndRate(question++, 'up');
    await until('v1 is served', async () => (await servedVersion()) === 1, 240_000);
    for (let rated = 0; rated < 3; ) rated += await askAndRate(question++, 'down');
    process.kill((await on.loop.pids()).collector!, 'SIGKILL');
    for (let rated = 0; rated < 3; ) rated += await askAndRate(question++, 'down');
    const [rollback] = await until<readonly RolledBack[]>('it is rolled back', async () => {
      const found = await events('policy.rolled-back');
      return found.length > 0 && found;
    });
    await until('v0 is served', async () => (await servedVersion()) === 0);
    expect(rollback!.data).toMatchObject({
      from: 1,
      to: 0,
      cause: 'automatic',
      figures: { turnsBefore: 6, badBefore: 0, alpha: 0.01 },
    });
    const { turns, bad, evidence } = rollback!.data.figures!;
    expect([bad, evidence >= 100]).toEqual([turns, true]);
    expect(await on.run('policy', 'list')).toMatch(
      /v1 +v0 +6 +rolled back by verdicts[\s\S]*v1 rolled back to v0 by the verdicts: since v1, (\d) of \1 verdicts are bad/,
    );
    expect(on.loop.output()).toMatch(/rolled back by its verdicts/);
  }, 300_000);

  test('its verdicts do not train, and the audits balance', async () => {
    await until('the samples of v1 are dropped', async () => {
      const dropped = (await events('sample.dropped')).filter(({ data }) => data.reason === 'off-lineage');
      const ofV1 = (await events('sample.ready')).filter(({ data }) => data.version === 1);
      return ofV1.length >= 6 && dropped.length === ofV1.length;
    });
    expect(await events('policy.rolled-back')).toHaveLength(1);
    expect(await events('batch.submitted')).toHaveLength(1);
    expect(await on.run('audit')).toMatch(/automatic rollbacks +1[\s\S]*balances/);
    expect(await on.run('audit', '--deep')).toMatch(/a rebuild gives the same events and rows/);
  }, 120_000);

  test('an operator can return to it, and the audits distinguish the two rollbacks', async () => {
    expect(await on.run('policy', 'rollback', '1')).toMatch(/the head is v1/);
    await until('v1 is served again', async () => (await servedVersion()) === 1);
    expect(await on.run('policy', 'list')).toMatch(/v0 rolled back to v1 by an operator/);
    expect(await on.run('audit', '--deep')).toMatch(/a rebuild gives the same events and rows/);
  }, 120_000);
});

import OpenAI from 'openai';
import { beforeAll, describe, expect, test } from 'vitest';
import { chatAndReact } from './harness/chat-and-react.ts';
import { until } from './harness/clawloop.ts';
import { loopOnFolder } from './harness/loop-on-folder.ts';

describe('the loop on one machine', () => {
  const on = loopOnFolder(['--collector-batch-size', '4']);
  let client: OpenAI;
  beforeAll(() => {
    client = new OpenAI({ baseURL: `${on.loop.url}/v1`, apiKey: 'none', maxRetries: 0 });
  });

  const ask = async (messages: OpenAI.ChatCompletionMessageParam[]): Promise<string> => {
    const completion = await client.chat.completions.create({ model: 'clawloop', messages, max_tokens: 160 });
    return completion.choices[0]?.message.content ?? '';
  };
  const servedVersion = async () => {
    const tail = await on.run('topics', 'tail', 'training', '--type', 'policy.loaded', '--json');
    const lines = tail.trim().split('\n').filter(Boolean);
    const last = lines.at(-1);
    return last === undefined
      ? 0
      : (JSON.parse(last) as { event: { data: { version: number } } }).event.data.version;
  };

  test('four judged chats become a version that is served, while an answer streams', async () => {
    await chatAndReact(ask);
    await until('v1 is served', async () => (await servedVersion()) === 1, 150_000);
    expect(await on.run('policy', 'list')).toMatch(/v1 +v0 +4 +promoted +head/);
    const models = await client.models.list();
    expect(models.data.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['clawloop', 'clawloop@base', 'clawloop@v1']),
    );
  }, 180_000);

  test("the person's complaint has trained as a hint", async () => {
    const tail = await on.run('topics', 'tail', 'training', '--type', 'policy.trained', '--json');
    const { event } = JSON.parse(tail.trim().split('\n')[0]!) as {
      event: { data: { metrics: Readonly<Record<string, number>> } };
    };
    expect(event.data.metrics).toMatchObject({ templateDrift: 0, hintsNotUsed: 0 });
    expect(event.data.metrics.hintsUsed).toBeGreaterThan(0);
    // without the hint the teacher of a first step is the policy itself, and the distance 0
    expect(Math.abs(event.data.metrics.teacherKl!)).toBeGreaterThan(1e-5);
  });

  test('every turn shows its outcome, and the audit balances', async () => {
    const turns = await on.run('turns', 'list', '--why');
    expect(turns).toMatch(/trained in v1/);
    expect(turns).toMatch(/waiting for next state/);
    expect(await on.run('sessions', 'list')).toMatch(/open/);
    expect(await on.run('audit')).toMatch(/balances/);
    expect(await on.run('replay')).toMatch(/v1/);
  });

  test('feedback on an answer outranks the judge', async () => {
    const completion = await client.chat.completions.create({
      model: 'clawloop',
      messages: [{ role: 'user', content: 'What is a good breakfast?' }],
      max_tokens: 300,
      seed: 7, // an answer that is cut off is not judged
    });
    await on.run('feedback', completion.id, 'down', '--url', on.loop.url, '--comment', 'too long');
    const answer = completion.choices[0]?.message.content ?? '';
    await ask([
      { role: 'user', content: 'What is a good breakfast?' },
      { role: 'assistant', content: answer },
      { role: 'user', content: 'Perfect, thanks!' },
    ]);
    await until('the verdict is the feedback', async () =>
      (await on.run('turns', 'list', '--json'))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { turnId: string; score?: number; source?: string })
        .some((turn) => turn.turnId === completion.id && turn.score === -1 && turn.source === 'feedback'),
    );
  });

  test('a rollback serves the earlier version, and learning can be paused', async () => {
    expect(await on.run('policy', 'rollback', '0')).toMatch(/the head is v0/);
    await until('v0 is served again', async () => {
      const completion = await client.chat.completions.create({
        model: 'clawloop',
        messages: [{ role: 'user', content: 'Good morning.' }],
        max_tokens: 8,
      });
      return (completion as unknown as { clawloop: { version: number } }).clawloop.version === 0;
    });
    expect(await on.run('learning', 'pause')).toMatch(/paused/);
    expect(await on.run('learning', 'resume')).toMatch(/resumed/);
    expect(await on.run('audit')).toMatch(/balances/);
  });
});

import OpenAI from 'openai';
import { expect, test, vi } from 'vitest';
import { until } from './harness/clawloop.ts';
import { loopOnFolder } from './harness/loop-on-folder.ts';
import { rlClient } from './rl-client.ts';

/** Sessions of programs with several agents: reply, returns, samples and export name the same answer. */

const on = loopOnFolder(['--collector-batch-size', '100']);
const rl = rlClient(() => on.loop.url);

vi.setConfig({ testTimeout: 300_000 });

type Turn = { readonly turnId: string; readonly rule: string; readonly score?: number | null } & {
  readonly own?: number | null;
  readonly stage: { readonly kind: string; readonly reason?: string };
};
const objectsIn = <One>(text: string): readonly One[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as One);
const settled = (session: string, count: number) =>
  until('all turns are settled', async () => {
    const turns = objectsIn<Turn>(await on.run('turns', 'list', '--json', '--session', session));
    const isSettled = ({ stage: { kind } }: Turn) => ['waiting-for-batch', 'not-trained'].includes(kind);
    return turns.length === count && turns.every(isSettled) ? turns : undefined;
  });

/** A whole answer of an agent: one that was cut off does not train. */
async function ask(key: string, system: string, content: string, headers = {}): Promise<string> {
  const client = new OpenAI({ baseURL: `${on.loop.url}/v1`, apiKey: key, maxRetries: 0 });
  const { id, choices } = await client.chat.completions.create(
    {
      model: 'clawloop',
      max_tokens: 300,
      seed: 1,
      messages: [
        { role: 'system', content: system },
        { role: 'user', content },
      ],
    },
    { headers },
  );
  expect(choices[0]!.finish_reason).toBe('stop');
  return id;
}

test('a reward without an id goes to the answer that the reply names, of any agent', async () => {
  const { session_id, api_key } = await rl.start('build');
  const plan = await ask(
    api_key,
    'You plan the work of other agents in short lists.',
    'How do I boil an egg?',
  );
  const code = await ask(api_key, 'Write code. Never explain anything.', 'How do I boil an egg?');
  const { body } = await rl.post('/rl/set_reward', api_key, { reward: 0.5 });
  expect(body.interaction_id).toBe(code);
  expect((await rl.post('/rl/end_session', api_key)).status).toBe(200);
  const turns = await settled(session_id, 2);
  expect(turns.map(({ turnId, score, own, stage }) => [turnId, score, own, stage.kind])).toEqual([
    [plan, 0, null, 'waiting-for-batch'],
    [code, 0.5, 0.5, 'waiting-for-batch'],
  ]);
  const ready = objectsIn<{ event: { data: { sampleId: string; verdict: number } } }>(
    await on.run('topics', 'tail', 'training', '--type', 'sample.ready', '--json'),
  );
  const verdicts = ready.map(({ event: { data } }) => [data.sampleId, data.verdict]);
  expect(verdicts).toEqual([
    [plan, 0],
    [code, 0.5],
  ]);
  const lines = objectsIn<{ interaction_ids: string[]; own_rewards: (number | null)[] }>(
    await on.run('sessions', 'export', session_id),
  );
  expect(lines.map(({ interaction_ids, own_rewards }) => [interaction_ids, own_rewards])).toEqual([
    [[plan], [null]],
    [[code], [0.5]],
  ]);
  expect(await on.run('audit')).toMatch(/balances/);
});

test('a request that reads like one of a chat client is a main turn; one that the program declares side is not', async () => {
  const { session_id, api_key } = await rl.start('titles');
  const system = 'You name things.';
  const title = await ask(api_key, system, 'Generate a short title for this conversation, please.');
  const beside = await ask(api_key, system, 'How do I boil an egg?', { 'x-turn-type': 'side' });
  const { body } = await rl.post('/rl/set_reward', api_key, { reward: -0.5 });
  expect(body.interaction_id).toBe(title);
  await rl.post('/rl/end_session', api_key);
  const turns = await settled(session_id, 2);
  expect(turns.map(({ turnId, rule, score, stage }) => [turnId, rule, score, stage.reason])).toEqual([
    [title, 'rewarded-session', -0.5, undefined],
    [beside, 'explicit-side', undefined, 'side'],
  ]);
  expect(await on.run('audit', '--deep')).toMatch(/attribute: .* differences: 0/);
});

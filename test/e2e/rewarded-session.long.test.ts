import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import OpenAI from 'openai';
import { expect, test, vi } from 'vitest';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { clawloop, until } from './harness/clawloop.ts';
import { loopOnFolder } from './harness/loop-on-folder.ts';
import { rlClient } from './rl-client.ts';

/** The way of a reward, from a session's last answer to the weights. */

const DISCOUNT = 0.5;
/** s; longer than any answer takes on a busy machine */
const IDLE_S = 15;
const on = loopOnFolder([
  '--collector-batch-size',
  '3',
  '--collector-turn-discount',
  String(DISCOUNT),
  '--collector-session-timeout',
  String(IDLE_S),
  '--collector-sweep-ms',
  '100',
]);
const rl = rlClient(() => on.loop.url);

vi.setConfig({ testTimeout: 300_000 });

type Turn = { readonly turnId: string; readonly session: string; readonly score?: number | null } & {
  readonly source: string;
  readonly stage: { readonly kind: string; readonly reason?: string; readonly version?: number };
};
const turnsOf = async (session: string): Promise<readonly Turn[]> =>
  (await on.run('turns', 'list', '--json', '--session', session))
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Turn);

/** Whole answers only: one that was cut off does not train. Returns the ids of the answers. */
async function talk(key: string, questions: readonly string[]): Promise<readonly string[]> {
  const client = new OpenAI({ baseURL: `${on.loop.url}/v1`, apiKey: key, maxRetries: 0 });
  const messages: OpenAI.ChatCompletionMessageParam[] = [];
  const ids: string[] = [];
  for (const [index, content] of questions.entries()) {
    messages.push({ role: 'user', content });
    const asked = { model: 'clawloop', messages, max_tokens: 300, seed: index };
    const { id, choices } = await client.chat.completions.create(asked);
    expect(choices[0]!.finish_reason).toBe('stop');
    messages.push(choices[0]!.message);
    ids.push(id);
  }
  return ids;
}

const questions = ['How do I boil an egg?', 'And a softer one?', 'Thanks. What goes with it?'];

/** Opened first and left idle, so that its timer runs during the other sessions. */
let forgotten: { readonly key: string; readonly session: string; readonly ids: readonly string[] };

test('a reward for the last answer reaches every turn before it, and makes a version', async () => {
  const left = await rl.start('forgotten');
  const leftIds = await talk(left.api_key, questions.slice(0, 2));
  forgotten = { key: left.api_key, session: left.session_id, ids: leftIds };

  const { session_id, api_key } = await rl.start('eggs');
  const ids = await talk(api_key, questions);
  expect((await rl.post('/rl/set_reward', api_key, { reward: 0.8 })).body.interaction_id).toBe(ids[2]);
  expect((await rl.post('/rl/end_session', api_key)).status).toBe(200);
  const turns = await until('all turns are trained on', async () => {
    const found = await turnsOf(session_id);
    return found.length === 3 && found.every(({ stage }) => stage.kind === 'trained') ? found : undefined;
  });
  expect(turns.map(({ turnId, score, source, stage }) => [turnId, score, source, stage.version])).toEqual([
    [ids[0], 0.2, 'reward', 1],
    [ids[1], 0.4, 'reward', 1],
    [ids[2], 0.8, 'reward', 1],
  ]);
  expect(await on.run('audit')).toMatch(/balances/);
  expect(await on.run('replay')).toMatch(/v1 .*same|same.*v1/);
});

test('a session that ends without a reward trains with reward 0; an advantage replaces the reward', async () => {
  const first = await rl.start('nothing');
  const ids = [...(await talk(first.api_key, questions.slice(0, 1)))];
  await rl.post('/rl/end_session', first.api_key);
  const second = await rl.start('compared');
  ids.push(...(await talk(second.api_key, questions.slice(0, 2))));
  await rl.post('/rl/set_reward', second.api_key, { reward: 1, advantage: -2 });
  await rl.post('/rl/end_session', second.api_key);
  await until('all three are trained on', async () => {
    const turns = [...(await turnsOf(first.session_id)), ...(await turnsOf(second.session_id))];
    return turns.length === 3 && turns.every(({ stage }) => stage.kind === 'trained');
  });
  const ready = (await on.run('topics', 'tail', 'training', '--type', 'sample.ready', '--json'))
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => (JSON.parse(line) as { event: { data: Record<string, unknown> } }).event.data)
    .filter(({ sampleId }) => ids.includes(sampleId as string));
  // of two waiting sessions, either may be settled first
  const inOrder = ready.toSorted((a, b) => Number(a.verdict) - Number(b.verdict));
  expect(inOrder.map(({ verdict, source, advantage }) => [verdict, source, advantage])).toEqual([
    [0, 'reward', undefined],
    [0.5, 'reward', -1],
    [1, 'reward', -2],
  ]);
});

test('an idle session is closed by its own timer, and its turns have a reason not to train', async () => {
  const turns = await until('its turns are settled', async () => {
    const found = await turnsOf(forgotten.session);
    return found.length === 2 && found.every(({ stage }) => stage.kind === 'not-trained') ? found : undefined;
  });
  expect(turns.map(({ turnId, stage }) => [turnId, stage.reason])).toEqual(
    forgotten.ids.map((id) => [id, 'no-reward']),
  );
  expect((await rl.post('/rl/set_reward', forgotten.key, { reward: 1 })).status).toBe(410);
  expect(await on.run('audit')).toMatch(/balances/);
});

type Line = Readonly<Record<'input_ids' | 'loss_mask' | 'logprobs' | 'versions', readonly number[]>> & {
  readonly session_id: string;
  readonly interaction_ids: readonly string[];
  readonly reward: number | null;
  readonly rewards: readonly (number | null)[];
  readonly own_rewards: readonly (number | null)[];
  readonly split: string | null;
};
const parsed = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);

test('ended sessions are exported with the tokens, masks, versions and returns of their training', async () => {
  const waits = await rl.start('exported');
  const open = await clawloop(['sessions', 'export', waits.session_id, '--data-folder', on.folder]);
  expect([open.code, open.stdout]).toEqual([2, '']);
  expect(open.stderr).toMatch(/still open/);
  const following = on.run('sessions', 'export', waits.session_id, '--follow', '--style', 'concat');
  const ids = await talk(waits.api_key, questions.slice(0, 2));
  await rl.post('/rl/set_reward', waits.api_key, { reward: -0.5 });
  await rl.post('/rl/end_session', waits.api_key);
  const [followed] = parsed(await following);
  expect(followed).toMatchObject({ interaction_ids: ids, rewards: [-0.25, -0.5], own_rewards: [null, -0.5] });

  const out = join(on.folder, 'out.jsonl');
  await on.run('sessions', 'export', '--out', out);
  const lines = parsed(await readFile(out, 'utf8'));
  expect((await readdir(on.folder)).filter((name) => name.startsWith('out.'))).toEqual(['out.jsonl']);
  const ended = Map.groupBy(lines, ({ session_id }) => session_id);
  expect([...ended.values()].map((of) => of.map(({ reward }) => reward))).toEqual(
    expect.arrayContaining([[null, null], [0.2, 0.4, 0.8], [0], [0.5, 1], [-0.25, -0.5]]),
  );
  const ready = (await on.run('topics', 'tail', 'training', '--type', 'sample.ready', '--json'))
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => (JSON.parse(line) as { event: SampleReady }).event.data);
  for (const sample of ready) {
    const line = lines.find(({ interaction_ids }) => interaction_ids[0] === sample.sampleId)!;
    const { promptIds, responseIds, logProbs } = sample.tokens;
    expect(line.input_ids).toEqual([...promptIds, ...responseIds]);
    expect(line.loss_mask).toEqual([...promptIds.map(() => 0), ...responseIds.map(() => 1)]);
    expect(line.logprobs).toEqual([...promptIds.map(() => 0), ...logProbs]);
    expect(line.versions).toEqual([...promptIds.map(() => -1), ...responseIds.map(() => sample.version)]);
    expect(line.rewards).toEqual([sample.verdict]);
  }
  const concat = parsed(await on.run('sessions', 'export', '--style', 'concat', '--discount', '1'));
  expect(concat.map(({ interaction_ids, reward }) => [interaction_ids.length, reward])).toEqual(
    expect.arrayContaining([
      [3, 0.8],
      [2, 1],
      [2, -0.5],
    ]),
  );
  expect(concat.every(({ split }) => split === null)).toBe(true);
});

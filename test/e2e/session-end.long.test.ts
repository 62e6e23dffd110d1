import OpenAI from 'openai';
import { expect, test, vi } from 'vitest';
import { clawloop, until } from './harness/clawloop.ts';
import { loopOnFolder } from './harness/loop-on-folder.ts';
import { rlClient } from './rl-client.ts';

/** The end of a session by the name that `clawloop turns list` shows, with all services. */

const on = loopOnFolder(['--collector-batch-size', '100']);
const { post } = rlClient(() => on.loop.url);

vi.setConfig({ testTimeout: 300_000 });

type Turn = {
  readonly turnId: string;
  readonly session: string;
  readonly stage: { readonly reason?: string };
};
const turns = async (): Promise<readonly Turn[]> =>
  (await on.run('turns', 'list', '--json'))
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Turn);
const turn = async (id: string) => (await turns()).find(({ turnId }) => turnId === id);

/** Two answers of one conversation whose client names no session. */
async function converse(apiKey: string, question: string): Promise<readonly [first: string, second: string]> {
  const client = new OpenAI({ baseURL: `${on.loop.url}/v1`, apiKey, maxRetries: 0 });
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }];
  const ask = () => client.chat.completions.create({ model: 'clawloop', messages, max_tokens: 300, seed: 1 });
  const first = await ask();
  messages.push(first.choices[0]!.message, { role: 'user', content: 'Thanks! And a softer one?' });
  return [first.id, (await ask()).id];
}
const shownSession = (id: string) =>
  until('its session is shown', async () => (await turn(id))?.session || undefined);
const end = (session: string, key?: string) => post('/v1/sessions/end', key, { session });
const notFound = { status: 404, body: { error: { code: 'session_not_found', param: 'session' } } };

test('a session that was found by its content is ended by the name that is shown, once', async () => {
  const [first, second] = await converse('none', 'How do I boil an egg?');
  const session = await shownSession(first);
  expect(session).toBe(`chat-${first}`);
  expect(await end(session)).toMatchObject({ status: 202, body: { session, accepted: true } });
  await until('its last turn is settled', async () => (await turn(second))?.stage.reason === 'no-next-state');
  expect(await turn(second)).toMatchObject({ session });
  expect(await end(session)).toMatchObject(notFound);
  expect(await end(`chat-${second}`)).toMatchObject(notFound);
  expect(await on.run('audit')).toMatch(/balances/);
});

test('a key ends its own sessions alone', async () => {
  const create = async (name: string) => {
    const { stdout } = await clawloop(['keys', 'create', name, '--data-folder', on.folder]);
    return stdout.split('\n')[0]!;
  };
  const [ann, bob] = [await create('ann'), await create('bob')];
  const [first, second] = await converse(ann, 'How do I fry an egg?');
  const session = await shownSession(first);
  expect(await end(session, bob)).toMatchObject(notFound);
  expect((await turn(second))?.stage.reason).toBeUndefined();
  expect(await end(session, ann)).toMatchObject({ status: 202 });
  await until('its last turn is settled', async () => (await turn(second))?.stage.reason === 'no-next-state');
});

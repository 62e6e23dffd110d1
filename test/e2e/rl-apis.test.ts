import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { rlClient } from './rl-client.ts';
import { servingOnScript } from './serving-on-script.ts';

const on = servingOnScript(['--batch-size', '100']);
const rl = rlClient(() => on.serving.url);

test('health is open to all, and a wrong method is refused with 405', async () => {
  expect(await rl.get('/health')).toMatchObject({ status: 200, body: { status: 'ok' } });
  const wrong = await rl.get('/rl/start_session');
  expect(wrong).toMatchObject({ status: 405, body: { error: { code: 'method_not_allowed' } } });
});

const apis = [
  ['/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }, 'bearer'],
  ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }, 'bearer'],
  ['/responses', { input: 'hi' }, 'bearer'],
  ['/v1/responses', { input: 'hi' }, 'bearer'],
  ['/messages', { max_tokens: 8, messages: [{ role: 'user', content: 'hi' }] }, 'x-api-key'],
  ['/v1/messages', { max_tokens: 8, messages: [{ role: 'user', content: 'hi' }] }, 'x-api-key'],
] as const;

test.each(apis)(
  '%s answers with a session key, and returns 410 after the end, also for streams',
  async (path, body, how) => {
    const { api_key, session_id } = await rl.start('demo');
    const ask = (key: string, stream: boolean) =>
      how === 'bearer'
        ? rl.post(path, key, { model: 'clawloop', ...body, stream })
        : rl.post(path, undefined, { model: 'clawloop', ...body, stream }, { 'x-api-key': key });
    const answer = await ask(api_key, false);
    expect(answer.status).toBe(200);
    const streamed = await ask(api_key, true);
    expect(streamed.headers.get('content-type')).toContain('text/event-stream');
    const id = answer.body.id;
    const rewarded = await rl.post('/rl/set_reward', api_key, { reward: 1, interaction_id: id });
    expect(rewarded.body).toEqual({ message: 'success', session_id, interaction_id: id });
    expect((await rl.post('/rl/end_session', api_key)).body.interaction_count).toBe(2);
    for (const stream of [false, true]) {
      const gone = await ask(api_key, stream);
      expect(gone.status).toBe(410);
      expect(gone.body.error.message).toContain('has ended');
      expect(gone.body.error.type).toBe('invalid_request_error');
      if (how === 'x-api-key') expect(gone.body.type).toBe('error');
      else expect(gone.body.error.code).toBe('session_ended');
      const forged = await ask(api_key.replace(/.{3}$/, 'AAA'), stream);
      expect(forged.status).toBe(401);
      expect(forged.body.error.type).toBe('authentication_error');
    }
    expect(await rl.post('/rl/set_reward', api_key, { reward: 1 })).toMatchObject({ status: 410 });
  },
);

test('the official clients work with a session key at the bare address; a streamed answer is rewarded by its id', async () => {
  const { api_key, session_id } = await rl.start('demo');
  const openai = new OpenAI({ baseURL: on.serving.url, apiKey: api_key });
  const anthropic = new Anthropic({ baseURL: on.serving.url, apiKey: api_key });
  const messages = [{ role: 'user' as const, content: 'hi' }];
  const ids: string[] = [];
  for await (const chunk of await openai.chat.completions.create({ model: 'm', messages, stream: true }))
    ids[0] = chunk.id;
  for await (const event of await openai.responses.create({ model: 'm', input: 'hi', stream: true }))
    if (event.type === 'response.completed') ids[1] = event.response.id;
  for await (const event of anthropic.messages.stream({ model: 'm', max_tokens: 9, messages }))
    if (event.type === 'message_start') ids[2] = event.message.id;
  for (const interaction_id of ids)
    expect((await rl.post('/rl/set_reward', api_key, { reward: 1, interaction_id })).body).toEqual({
      message: 'success',
      session_id,
      interaction_id,
    });
  expect((await rl.post('/rl/end_session', api_key)).body.interaction_count).toBe(3);
  const gone = { status: 410 };
  await expect(openai.chat.completions.create({ model: 'm', messages, stream: true })).rejects.toMatchObject(
    gone,
  );
  await expect(openai.responses.create({ model: 'm', input: 'hi' })).rejects.toMatchObject(gone);
  await expect(anthropic.messages.create({ model: 'm', max_tokens: 9, messages })).rejects.toMatchObject(
    gone,
  );
});

import { describe, expect, test } from 'vitest';
import type { FeedbackGiven } from '../../shared/events/feedback-given.ts';
import { defined } from '../../shared/lang/defined.ts';
import { servingForSuite } from './serving-process.ts';

const user = (content: string) => ({ role: 'user', content }) as const;

describe('lanes and sessions', () => {
  const on = servingForSuite();

  test('feedback finds the lane of its answer', async () => {
    const answer = await on.serving.client.chat.completions.create({
      model: 'clawloop',
      messages: [user('hello')],
      max_tokens: 2,
    });
    const give = (body: object) =>
      fetch(`${on.serving.url}/v1/feedback`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ completion_id: answer.id, ...body }),
      });
    expect((await give({ rating: 'down', comment: 'no lists' })).status).toBe(200);
    expect((await give({ reward: 0.25 })).status).toBe(200);
    for (const bad of [
      {},
      { rating: 'up', reward: 1 },
      { reward: 'NaN' },
      { reward: 1.01 },
      { reward: -2 },
      { rating: 'meh' },
      { reward: 1, completion_id: 'x' },
    ]) {
      expect((await give(bad)).status, JSON.stringify(bad)).toBe(400);
    }
    const events = await on.folder.events('conversations');
    const given = events.filter((event): event is FeedbackGiven => event.type === 'feedback.given');
    const lane = (await on.folder.interaction(answer.id)).lane;
    expect(given.map(({ data }) => data)).toMatchObject([
      { interactionId: answer.id, lane, score: -1, comment: 'no lists' },
      { interactionId: answer.id, lane, score: 0.25 },
    ]);
  });

  test('headers name the session, and a header ends it', async () => {
    const answer = await on.serving.client.chat.completions.create(
      { model: 'clawloop', messages: [user('hello')], max_tokens: 2 },
      { headers: { 'x-session-id': 'chat-a:2', 'x-turn-type': 'main', 'x-session-done': 'true' } },
    );
    const events = await on.folder.events('conversations');
    const fact = await on.folder.interaction(answer.id);
    expect(fact).toMatchObject({ session: 'chat-a', turnType: 'main' });
    const end = events.find(({ type }) => type === 'session.ended');
    expect(end!.data).toMatchObject({ session: 'chat-a', lane: fact.lane, reason: 'explicit' });
    const other = await on.serving.client.chat.completions.create({
      model: 'clawloop',
      messages: [user('hello')],
      max_tokens: 2,
    });
    expect((await on.folder.interaction(other.id)).lane).not.toBe(fact.lane);
  });

  const end = async (session: string, key?: string) => {
    const response = await fetch(`${on.serving.url}/v1/sessions/end`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...defined({ authorization: key === undefined ? undefined : `Bearer ${key}` }),
      },
      body: JSON.stringify({ session }),
    });
    return { status: response.status, body: (await response.json()) as unknown };
  };
  const askIn = (session: string) =>
    on.serving.client.chat.completions.create(
      { model: 'clawloop', messages: [user('hello')], max_tokens: 2 },
      { headers: { 'x-session-id': session } },
    );
  const notFound = {
    status: 404,
    body: { error: { code: 'session_not_found', param: 'session' } },
  };

  test('a session ends by its name, once; an unused name ends nothing', async () => {
    const { lane } = await on.folder.interaction((await askIn('chat-b')).id);
    expect(await end('chat-b')).toEqual({
      status: 202,
      body: { object: 'clawloop.session', session: 'chat-b', accepted: true },
    });
    const ends = async (session: string) =>
      (await on.folder.events('conversations')).filter(
        ({ type, data }) => type === 'session.ended' && data.session === session,
      );
    expect((await ends('chat-b')).map(({ data }) => data)).toMatchObject([{ lane, reason: 'explicit' }]);
    for (const nobodys of ['chat-b', 'chat-none', 'never used', 'chat-chatcmpl-0'])
      expect(await end(nobodys), nobodys).toMatchObject(notFound);
    expect(await ends('chat-b')).toHaveLength(1);
    await askIn('chat-b'); // the session continues
    expect(await end('chat-b')).toMatchObject({ status: 202 });
  });

  test('a session that ended with its answer cannot be ended again', async () => {
    expect(await end('chat-a')).toMatchObject(notFound);
  });
});

import { describe, expect, test } from 'vitest';
import { EventRejected } from '../../shared/events/event-rejected.ts';
import { createAccessKey, removeAccessKey } from '../../shared/runtime/access-keys.ts';
import { servingForSuite } from './serving-process.ts';

describe("an operator's requests to serving", () => {
  const on = servingForSuite(['--adapters', 'default,bob']);
  const ask = async (path: string, body: object = {}, key?: string) => {
    const response = await fetch(`${on.serving.url}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as { error?: { code: string } } };
  };
  const training = async (type: string) =>
    (await on.folder.events('training')).filter((event) => event.type === type).map(({ data }) => data);

  test('pause, resume and train now append the same events as the commands', async () => {
    expect(await ask('/v1/learning/pause', { reason: 'holidays' })).toMatchObject({ status: 200 });
    expect(await ask('/v1/learning/resume', { adapter: 'bob' })).toMatchObject({ status: 200 });
    expect(await ask('/v1/learning/now')).toMatchObject({ status: 200, body: { after: 0, recorded: true } });
    expect(await training('learning.paused')).toEqual([{ adapter: 'default', reason: 'holidays' }]);
    expect(await training('learning.resumed')).toEqual([{ adapter: 'bob' }]);
    expect(await training('batch.requested')).toEqual([{ adapter: 'default', after: 0, reason: 'operator' }]);
  });

  test('a rollback names a version that was served; the head itself changes nothing', async () => {
    expect(await ask('/v1/policy/rollback', { version: 0 })).toMatchObject({
      status: 200,
      body: { from: 0, to: 0, recorded: false },
    });
    expect(await ask('/v1/policy/rollback', { version: 7 })).toMatchObject({
      status: 404,
      body: { error: { code: 'version_never_served', param: 'version' } },
    });
    expect(await ask('/v1/policy/rollback', { version: 0, adapter: 'eve' })).toMatchObject({
      status: 404,
      body: { error: { code: 'unknown_adapter' } },
    });
    expect(await ask('/v1/policy/rollback', {})).toMatchObject({ status: 400 });
    expect(await training('policy.rolled-back')).toEqual([]);
  });

  test('a turn is withdrawn and deleted by the position of its answer, and only there', async () => {
    const { id } = await on.serving.client.chat.completions.create({
      model: 'clawloop',
      messages: [{ role: 'user', content: 'hello' }],
      max_tokens: 2,
    });
    const answer = await on.folder.interaction(id);
    const log = await on.folder.openLog();
    const ends = await log.ends('conversations');
    const partition = ends.findIndex((end) => end > 0);
    const at = { partition, offset: 0 };
    for (const action of ['withdraw', 'delete']) {
      expect(await ask(`/v1/turns/${action}`, { turn_id: 'other', at })).toMatchObject({
        status: 404,
        body: { error: { code: 'turn_not_found' } },
      });
      for (const place of [
        { partition, offset: 99 },
        { partition: 99, offset: 0 },
      ])
        expect((await ask(`/v1/turns/${action}`, { turn_id: id, at: place })).status).toBe(404);
      expect(await ask(`/v1/turns/${action}`, { turn_id: id, at })).toMatchObject({ status: 200 });
    }
    const { lane, key, adapter } = answer;
    const events = (await on.folder.events('conversations')).filter(
      ({ type }) => !type.endsWith('.completed'),
    );
    expect(events.map(({ type, id: event, data }) => ({ type, event, data }))).toEqual([
      {
        type: 'interaction.withdrawn',
        event: `${id}/taken-back`,
        data: { interactionId: id, lane, key, adapter },
      },
      { type: 'response.deleted', event: `${id}/deleted`, data: { interactionId: id, lane, key, adapter } },
    ]);
  });

  test('readable dead letters are put back once', async () => {
    const [paused] = (await on.folder.events('training')).filter(({ type }) => type === 'learning.paused');
    const log = await on.folder.openLog();
    await log.append([
      EventRejected.create({
        id: 'letter',
        source: 'test',
        time: '2026-01-01T00:00:00.000Z',
        data: {
          topic: 'training',
          at: { partition: 0, offset: 999 },
          subject: paused!.subject,
          group: 'submit',
          error: 'test',
          body: JSON.stringify({ ...paused, id: 'lost' }),
        },
      }),
    ]);
    expect(await ask('/v1/dead-letters/redrive')).toMatchObject({ body: { put_back: 1, letters: 1 } });
    expect(await ask('/v1/dead-letters/redrive')).toMatchObject({ body: { put_back: 0, letters: 1 } });
  });

  test('once there are keys, only an operator is allowed', async () => {
    const { keys } = on.folder.data;
    const [person, operator, ofBob] = [
      await createAccessKey(keys, 'ann'),
      await createAccessKey(keys, 'op', { operator: true }),
      await createAccessKey(keys, 'both', { operator: true, adapter: 'bob' }),
    ];
    for (const path of [
      '/v1/learning/pause',
      '/v1/policy/rollback',
      '/v1/turns/delete',
      '/v1/dead-letters/redrive',
    ]) {
      const body = { version: 0, turn_id: 'x', at: { partition: 0, offset: 0 } };
      expect((await ask(path, body)).status, path).toBe(401);
      for (const { secret } of [person, ofBob])
        expect(await ask(path, body, secret), path).toMatchObject({
          status: 403,
          body: { error: { code: 'not_an_operator' } },
        });
    }
    const session = await ask('/rl/start_session', { task_id: 't' }, operator.secret);
    const { api_key: sessionKey } = session.body as unknown as { readonly api_key: string };
    expect(await ask('/v1/learning/pause', {}, sessionKey)).toMatchObject({
      status: 403,
      body: { error: { code: 'not_for_session_keys' } },
    });
    expect(await ask('/v1/learning/now', {}, operator.secret)).toMatchObject({ status: 200 });
    for (const { id } of [person, operator, ofBob]) await removeAccessKey(keys, id);
  });
});

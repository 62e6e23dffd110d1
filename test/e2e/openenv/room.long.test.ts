import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../harness/clawloop.ts';
import { describeWithOpenEnv } from './describe-with-openenv.ts';
import { openSession, type Session } from './session.ts';
import { type OpenEnvServer, startOpenEnv } from './start-server.ts';

/** Runs with a server and a session of its own, and leaves neither behind. */
async function withRoom(
  flags: readonly string[],
  run: (session: Session, server: OpenEnvServer) => Promise<void>,
  port?: number,
): Promise<void> {
  const server = await startOpenEnv('room', flags, port);
  try {
    const session = await openSession(server.url);
    await run(session, server);
  } finally {
    await server.stop();
  }
}

const post = async (url: string, body: object) => {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, body: (await response.json()) as unknown };
};

const observed = (observation: object, reward: number | null, done: boolean) => ({
  type: 'observation',
  data: { observation: { metadata: {}, ...observation }, reward, done },
});

describeWithOpenEnv('a room as a real OpenEnv server', () => {
  describe('of text', () => {
    let server: OpenEnvServer;
    beforeAll(async () => {
      server = await startOpenEnv('room');
    });
    afterAll(() => server?.stop());

    test('The right colour earns 1 and ends the episode, also after a wrong one', async () => {
      const session = await openSession(server.url);
      const question = 'Which colour is the door?';
      expect(await session.ask('reset', { split: 'train', index: 1, episode_id: 'e-1', unknown: 1 })).toEqual(
        observed({ prompt: question, tries_left: 3 }, null, false),
      );
      expect(await session.ask('step', { text: 'blue' })).toEqual(
        observed({ prompt: `Wrong. ${question}`, tries_left: 2 }, 0, false),
      );
      expect(await session.ask('step', { text: ' Green ' })).toEqual(
        observed({ prompt: 'Right.', tries_left: 1 }, 1, true),
      );
      expect(await session.ask('state')).toEqual({
        type: 'state',
        data: { episode_id: 'e-1', step_count: 2 },
      });
      expect((await session.ask('step', { text: 'green' })).data.code).toBe('EXECUTION_ERROR');
      await session.close();
    });

    test('Three wrong colours earn nothing and end the episode', async () => {
      const session = await openSession(server.url);
      await session.ask('reset', { split: 'test', index: 1 });
      const replies = [];
      for (const text of ['red', 'green', 'blue']) replies.push((await session.ask('step', { text })).data);
      expect(replies.map(({ reward, done }) => [reward, done])).toEqual([
        [0, false],
        [0, false],
        [0, true],
      ]);
      expect(replies[2]!.observation).toEqual({ metadata: {}, prompt: 'Wrong.', tries_left: 0 });
      await session.close();
    });

    test('An invalid message is an error with a code, and the session continues', async () => {
      const session = await openSession(server.url);
      const codes = [
        await session.ask('step', { text: 'red' }), // before a reset
        await session.askRaw('{'),
        await session.ask('greet'),
        await session.ask('step', { words: 'red' }),
        await session.ask('reset', { index: 4 }),
      ].map(({ type, data }) => [type, data.code]);
      expect(codes).toEqual([
        ['error', 'EXECUTION_ERROR'],
        ['error', 'INVALID_JSON'],
        ['error', 'UNKNOWN_TYPE'],
        ['error', 'VALIDATION_ERROR'],
        ['error', 'EXECUTION_ERROR'],
      ]);
      await session.ask('reset');
      expect((await session.ask('step', { text: '!raise' })).data).toEqual({
        message: 'the room was asked to raise',
        code: 'EXECUTION_ERROR',
      });
      expect((await session.ask('step', { text: 'red' })).data.reward).toBe(1);
      await session.close();
    });

    test('A message that is not an object, and an unknown session, end the socket', async () => {
      const list = await openSession(server.url);
      expect((await list.askRaw('[]')).data.code).toBe('SESSION_ERROR');
      expect(await list.closed).toBe(1000);
      const other = await openSession(server.url, '?session_id=nobody');
      expect((await other.heard()).data.code).toBe('SESSION_ERROR');
      expect(await other.closed).toBe(1000);
    });

    test('The session ends when the client requests it', async () => {
      const session = await openSession(server.url);
      await expect(session.ask('close')).rejects.toThrow('closed');
      expect(await session.closed).toBe(1000);
    });

    test('It lists its tasks', async () => {
      const get = async (path: string) => (await fetch(`${server.url}${path}`)).json() as Promise<unknown>;
      expect(await get('/list_environments')).toEqual(['room']);
      expect(await get('/room/splits')).toMatchObject([{ name: 'train' }, { name: 'test' }]);
      const door = { id: 'train-1', split: 'train', index: 1, object: 'door' };
      expect(await post(`${server.url}/room/num_tasks`, { split: 'train' })).toEqual({
        status: 200,
        body: { num_tasks: 4 },
      });
      expect((await post(`${server.url}/room/task`, { split: 'train', index: 1 })).body).toEqual({
        task: door,
      });
      expect((await post(`${server.url}/room/task`, { split: 'test', index: 2 })).status).toBe(400);
      const range = await post(`${server.url}/room/task_range`, { split: 'train', start: 1, stop: 2 });
      expect(range.body).toMatchObject({ tasks: [door] });
    });
  });

  describe('of tools', () => {
    let server: OpenEnvServer;
    let session: Session;
    beforeAll(async () => {
      server = await startOpenEnv('room', ['--kind', 'tools']);
      session = await openSession(server.url);
    });
    afterAll(() => server?.stop());
    const textOf = ({ data }: Awaited<ReturnType<Session['ask']>>) =>
      (data.observation!.result as { content: { text: string }[] }).content.map(({ text }) => text).join('');

    test('It lists its tools before a reset', async () => {
      const { data } = await session.ask('step', { type: 'list_tools' });
      const tools = data.observation!.tools as { name: string; input_schema: object }[];
      expect(tools.map(({ name }) => name)).toEqual(['add', 'lookup', 'submit', 'fail']);
      expect(tools[0]!.input_schema).toMatchObject({
        type: 'object',
        properties: { a: { type: 'integer' }, b: { type: 'integer' } },
        required: ['a', 'b'],
      });
      expect((await session.call('submit', { answer: '7' })).data.code).toBe('EXECUTION_ERROR');
    });

    test.each([
      ['7', 1],
      ['8', 0],
    ])('The answer %s earns %d and ends the episode', async (answer, reward) => {
      expect(await session.ask('reset', { split: 'train', index: 0 })).toEqual(
        observed({ prompt: 'What do the lamp and its delivery cost together?' }, null, false),
      );
      const lookup = await session.call('lookup', { topic: 'lamp' });
      expect([textOf(lookup), lookup.data.reward, lookup.data.done]).toEqual([
        'The lamp costs 3, its delivery 4.',
        null,
        false,
      ]);
      const sum = await session.call('add', { a: 3, b: 4 });
      expect(sum.data.observation).toMatchObject({ tool_name: 'add', result: { data: 7 }, error: null });
      const submitted = await session.call('submit', { answer });
      expect([textOf(submitted), submitted.data.reward, submitted.data.done]).toEqual([
        'Submitted.',
        reward,
        true,
      ]);
    });

    test.each([
      ['fail', {}, 'execution_error'],
      ['lookup', { topic: '!raise' }, 'execution_error'],
      ['add', { a: 'many' }, 'invalid_args'],
      ['subtract', {}, 'tool_not_found'],
    ])('The call of %s with %o fails within the observation', async (tool, toolArguments, kind) => {
      await session.ask('reset');
      const { type, data } = await session.call(tool, toolArguments);
      expect([type, data.reward, data.done]).toEqual(['observation', null, false]);
      expect(data.observation).toMatchObject({ tool_name: tool, result: null, error: { error_type: kind } });
    });
  });

  test('A full server reports that on an open socket, and has room again once a session ends', () =>
    withRoom(['--max-concurrent-envs', '1'], async (first, { url }) => {
      await first.ask('reset');
      const second = await openSession(url);
      expect((await second.heard()).data).toMatchObject({
        code: 'CAPACITY_REACHED',
        active_sessions: 1,
        max_sessions: 1,
      });
      expect(await second.closed).toBe(1000);
      await first.close();
      await until('there is room', () => hasPlace(url));
    }));

  test('A step that hangs keeps its place when its socket drops, and the server still stops', () =>
    withRoom(['--max-concurrent-envs', '1'], async (session, server) => {
      await session.ask('reset');
      session.ask('step', { text: '!hang' }).catch(() => {}); // nothing comes
      await session.close();
      expect(await hasPlace(server.url)).toBe(false);
      await server.stop();
    }));

  test('A step that ends the process breaks the socket, and a new server knows nothing of the episode', () =>
    withRoom([], async (session, server) => {
      await session.ask('reset');
      await expect(session.ask('step', { text: '!exit' })).rejects.toThrow('closed');
      expect([await session.closed, await server.ended]).toEqual([1006, 3]);
      await withRoom(
        [],
        async (fresh) => {
          expect((await fresh.ask('step', { text: 'red' })).data.code).toBe('EXECUTION_ERROR');
        },
        Number(new URL(server.url).port),
      );
    }));

  test('A kill breaks the sockets', () =>
    withRoom([], async (session, server) => {
      await session.ask('reset');
      await server.kill();
      expect([await session.closed, await server.ended]).toEqual([1006, null]);
    }));

  test('A server that opens no environment reports that and closes', () =>
    withRoom(['--broken'], async (session) => {
      expect((await session.heard()).data.code).toBe('FACTORY_ERROR');
      expect(await session.closed).toBe(1000);
    }));
});

async function hasPlace(url: string): Promise<boolean> {
  const session = await openSession(url);
  const { type } = await session.ask('reset');
  await session.close();
  return type === 'observation';
}

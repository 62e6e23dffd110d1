import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithOpenEnv } from './describe-with-openenv.ts';
import { openSession, type Reply, type Session } from './session.ts';
import { type OpenEnvServer, startOpenEnv } from './start-server.ts';

const TASKS = 200;
/** Tasks whose reference calls leave the worlds as they were: the calls only read, or the world refuses them. */
const NOTHING_CHANGES = [13, 47, 49, 57, 139, 144, 157, 182];

type Call = { readonly name: string; readonly arguments: { readonly [name: string]: unknown } };
type References = { readonly id: string; readonly turns: readonly (readonly Call[])[] };

describeWithOpenEnv("BFCL's multi-turn worlds as a real OpenEnv server", () => {
  let server: OpenEnvServer;
  let session: Session;
  beforeAll(async () => {
    server = await startOpenEnv('bfcl');
    session = await openSession(server.url);
  });
  afterAll(() => server?.stop());

  const references = async (index: number) =>
    (await (await fetch(`${server.url}/bfcl/references/${index}`)).json()) as References;

  /** Plays an episode with these calls, a list for each turn, and gives the last reply. */
  async function play(index: number, turns: References['turns'], over = session): Promise<Reply> {
    await over.ask('reset', { split: 'train', index });
    let last: Reply | undefined;
    for (const calls of turns) {
      expect(last?.data.done ?? false).toBe(false);
      for (const call of calls) {
        const { data } = await over.call(call.name, call.arguments);
        expect([data.reward, data.done, data.observation?.error]).toEqual([null, false, null]);
      }
      last = await over.call('next_turn');
    }
    return last!;
  }

  test('The calls of every reference earn 1', async () => {
    const unearned = [];
    for (let index = 0; index < TASKS; index++) {
      const { id, turns } = await references(index);
      const { reward, done, observation } = (await play(index, turns)).data;
      if (reward !== 1 || done !== true) unearned.push({ id, reward, observation });
    }
    expect(unearned).toEqual([]);
  });

  test('No call at all earns nothing if the reference changes a world', async () => {
    const earned = [];
    for (let index = 0; index < TASKS; index++) {
      const { turns } = await references(index);
      const { reward, done } = (
        await play(
          index,
          turns.map(() => []),
        )
      ).data;
      expect(done).toBe(true);
      if (reward === 1) earned.push(index);
      else expect(reward).toBe(0);
    }
    expect(earned).toEqual(NOTHING_CHANGES);
  });

  test('One wrong turn earns nothing, even if the other turns agree', async () => {
    const { turns } = await references(0);
    const [first, ...rest] = turns;
    const more = { name: 'touch', arguments: { file_name: 'more.txt' } };
    const { data } = await play(0, [first!, ...rest.slice(0, -1), [...rest.at(-1)!, more]]);
    expect([data.reward, data.done, data.observation!.metadata]).toEqual([
      0,
      true,
      { turn: 4, turns: 4, agreed: [true, true, true, false] },
    ]);
  });

  test('Sessions at the same time have worlds of their own', async () => {
    const { turns } = await references(0);
    const other = await openSession(server.url);
    const [right, empty] = await Promise.all([
      play(0, turns),
      play(
        0,
        turns.map(() => []),
        other,
      ),
    ]);
    expect([right.data.reward, empty.data.reward]).toEqual([1, 0]);
    await other.close();
  });

  test("A task begins with its user's words, and the tools are those of its classes", async () => {
    const reset = await session.ask('reset', { split: 'train', index: 0 });
    const turn = { turn: 0, turns: 4 };
    const prompt =
      "Move 'final_report.pdf' within document directory to 'temp' directory in document. Make sure to create the directory";
    expect(reset.data).toEqual({
      observation: { metadata: turn, prompt },
      reward: null,
      done: false,
      metadata: turn,
    });
    const { data } = await session.ask('step', { type: 'list_tools' });
    const tools = data.observation!.tools as { name: string; input_schema: object }[];
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['mv', 'post_tweet', 'next_turn']));
    expect(names).not.toContain('book_flight'); // of a class that is not involved
    expect(names).not.toContain('cp'); // withheld in this task
    expect(tools.find(({ name }) => name === 'mv')!.input_schema).toMatchObject({
      type: 'object',
      properties: { source: { type: 'string' }, destination: { type: 'string' } },
      required: ['source', 'destination'],
      additionalProperties: false,
    });
  });

  test('The world answers or refuses a call, and a malformed call never reaches it', async () => {
    await session.ask('reset', { split: 'train', index: 0 });
    const seen = async (name: string, toolArguments: object) => {
      const { result, error } = (await session.call(name, toolArguments)).data.observation!;
      return { result, error: (error as { error_type: string } | null)?.error_type };
    };
    expect(await seen('cd', { folder: 'document' })).toEqual({
      result: '{"current_working_directory": "document"}',
      error: undefined,
    });
    expect(await seen('cd', { folder: 'nowhere' })).toEqual({
      result: expect.stringContaining('No such file or directory'),
      error: undefined,
    });
    expect(await seen('cd', { folder: 7 })).toEqual({
      result: expect.stringContaining('Error during execution'),
      error: undefined,
    });
    expect(await seen('cd', { path: 'document' })).toEqual({ result: null, error: 'invalid_args' });
    expect(await seen('__import__', {})).toEqual({ result: null, error: 'tool_not_found' });
    expect(await seen('_load_scenario', {})).toEqual({ result: null, error: 'tool_not_found' });
  });

  test('After the last turn it takes no call until the next reset', async () => {
    const { turns } = await references(0);
    const { data } = await play(0, turns);
    expect(data.observation!.result).toBe('The conversation is over.');
    expect((await session.call('ls')).data.code).toBe('EXECUTION_ERROR');
    await session.ask('reset', { split: 'train', index: 0 });
    expect((await session.call('ls')).type).toBe('observation');
  });
});

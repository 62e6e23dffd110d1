import { afterEach, expect, test } from 'vitest';
import type { Action, OpenEnvironment } from './environment.ts';
import { type ScriptedAnswer, scriptedModel } from './testing/scripted-model.ts';
import { toolsAgent } from './tools-agent.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const add = {
  type: 'function' as const,
  function: { name: 'add', description: 'adds', parameters: { type: 'object', properties: {} } },
};

/** Runs the agent on scripted answers, in an environment that is done after `doneAfter` actions. */
async function run(answers: readonly ScriptedAnswer[], given: Partial<OpenEnvironment> = {}, doneAfter = 99) {
  const model = await scriptedModel(answers);
  closing.push(model.close);
  const actions: Action[] = [];
  const environment: OpenEnvironment = {
    messages: [{ role: 'user', content: 'What is 2 + 3?' }],
    tools: [add],
    takesText: false,
    act: async (action) => {
      actions.push(action);
      return { content: `result ${actions.length}`, isError: false, isDone: actions.length >= doneAfter };
    },
    evaluate: async () => ({ reward: 1, detail: {} }),
    close: async () => {},
    ...given,
  };
  const result = await toolsAgent({ maxSteps: 4, model: 'clawloop' })({
    task: {},
    environment,
    baseUrl: model.url,
    apiKey: 'sk-sess',
    session: 's',
    attempt: 0,
    seed: 7,
    signal: new AbortController().signal,
  });
  return { result, actions, requests: model.requests };
}

test('calls are carried out in order until an answer has none', async () => {
  const { result, actions, requests } = await run([
    {
      calls: [
        ['add', '{"a":2,"b":3}'],
        ['add', '{"a":5,"b":0}'],
      ],
    },
    'It is 5.',
  ]);
  expect(result).toEqual({ ended: 'answer', steps: 2, answer: 'It is 5.' });
  expect(actions.map(({ name, arguments: given }) => [name, given])).toEqual([
    ['add', { a: 2, b: 3 }],
    ['add', { a: 5, b: 0 }],
  ]);
  expect(requests[1]!.messages.map(({ role, content }) => [role, content])).toEqual([
    ['user', 'What is 2 + 3?'],
    ['assistant', null],
    ['tool', 'result 1'],
    ['tool', 'result 2'],
  ]);
  expect(requests.map(({ seed, temperature }) => [seed, temperature])).toEqual([
    [7, 1],
    [8, 1],
  ]);
});

test('ids of actions differ although an engine repeats the ids of its calls', async () => {
  const { actions } = await run([{ calls: [['add', '{}']] }, { calls: [['add', '{}']] }, 'Done.']);
  expect(new Set(actions.map(({ id }) => id)).size).toBe(2);
});

test('an unknown tool and broken arguments are errors that the policy sees', async () => {
  const { result, actions, requests } = await run([
    {
      calls: [
        ['subtract', '{}'],
        ['add', '{"a":'],
        ['add', '[1]'],
      ],
    },
    'I give up.',
  ]);
  expect(result).toMatchObject({ ended: 'answer' });
  expect(actions).toEqual([]);
  expect(requests[1]!.messages.slice(2).map(({ content }) => content)).toEqual([
    "There is no tool 'subtract'. Tools: add.",
    'The arguments are not a JSON object.',
    'The arguments are not a JSON object.',
  ]);
});

test('the attempt ends when the environment is done, and later calls are not carried out', async () => {
  const { result, actions } = await run(
    [
      {
        calls: [
          ['add', '{}'],
          ['add', '{}'],
        ],
      },
    ],
    {},
    1,
  );
  expect(result).toMatchObject({ ended: 'done', steps: 1 });
  expect(actions).toHaveLength(1);
});

test('used-up steps and a full context end the attempt without an error', async () => {
  const calls: ScriptedAnswer = { calls: [['add', '{}']] };
  expect((await run([calls, calls, calls, calls, calls])).result).toMatchObject({ ended: 'steps', steps: 4 });
  const full = await run([calls, { status: 400, code: 'context_length_exceeded' }]);
  expect(full.result).toMatchObject({ ended: 'context', steps: 1 });
});

test('an environment that takes text gets each answer as an action', async () => {
  const { result, actions, requests } = await run(['red', 'blue'], { takesText: true, tools: [] }, 2);
  expect(result).toEqual({ ended: 'done', steps: 2, answer: 'blue' });
  expect(actions.map(({ name, arguments: given }) => [name, given])).toEqual([
    ['say', { text: 'red' }],
    ['say', { text: 'blue' }],
  ]);
  expect(requests[1]!.messages.at(-1)).toEqual({ role: 'user', content: 'result 1' });
  expect(requests[0]).not.toHaveProperty('tools');
});

test('a request to a busy server is retried; any other refusal is an error', async () => {
  const busy: ScriptedAnswer = { status: 429, code: 'busy' };
  expect((await run([busy, busy, 'Hello.'])).result).toMatchObject({ answer: 'Hello.' });
  await expect(run([{ status: 401, code: 'invalid_api_key' }])).rejects.toThrow(/401.*invalid_api_key/);
});

import { afterEach, expect, test } from 'vitest';
import { bashAgent } from './bash-agent.ts';
import type { OpenEnvironment, ShellResult } from './environment.ts';
import { type ScriptedAnswer, scriptedModel } from './testing/scripted-model.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const SUBMIT = 'echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT';
const call = (command: string): ScriptedAnswer => ({ calls: [['bash', JSON.stringify({ command })]] });

/** A shell that prints the text to echo. */
const echoing = (command: string): ShellResult =>
  command.startsWith('echo ')
    ? { code: 0, output: `${command.slice(5)}\n` }
    : { code: 127, output: `${command}: not found` };

async function run(
  answers: readonly ScriptedAnswer[],
  { form = 'calls' as 'calls' | 'backticks', given = {} as Partial<OpenEnvironment>, maxSteps = 5 } = {},
) {
  const model = await scriptedModel(answers);
  closing.push(model.close);
  const commands: string[] = [];
  const environment: OpenEnvironment = {
    messages: [{ role: 'user', content: 'Make a file.' }],
    tools: [],
    takesText: false,
    act: async () => ({ content: 'Next: remove it.', isError: false, isDone: false }),
    shell: async (command) => {
      commands.push(command);
      return echoing(command);
    },
    evaluate: async () => ({ reward: 1, detail: {} }),
    close: async () => {},
    ...given,
  };
  const result = await bashAgent({ maxSteps, form, contextTokens: undefined, model: 'clawloop' })({
    task: {},
    environment,
    baseUrl: model.url,
    apiKey: 'sk-sess',
    session: 's',
    attempt: 0,
    seed: 7,
    signal: new AbortController().signal,
  });
  return { result, commands, requests: model.requests };
}

test('commands run until one submits', async () => {
  const { result, commands, requests } = await run([call('echo one'), call(`${SUBMIT}\nthe answer`)]);
  expect(result).toEqual({ ended: 'submitted', steps: 2, submission: 'the answer' });
  expect(commands).toHaveLength(2);
  expect(requests[0]!.messages.map(({ role }) => role)).toEqual(['system', 'user']);
  expect(requests[1]!.messages.at(-1)).toMatchObject({
    role: 'tool',
    content: '<returncode>0</returncode>\n<output>\none\n</output>\nYou have 4 turns left.',
  });
});

test('a failing command is an observation, and its submission does not count', async () => {
  const shell = async () => ({ code: 1, output: 'COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT' });
  const { result, requests } = await run([call('x'), call('y')], { given: { shell }, maxSteps: 2 });
  expect(result).toMatchObject({ ended: 'steps', steps: 2 });
  expect(requests[1]!.messages.at(-1)!.content).toContain('<returncode>1</returncode>');
});

test('long output is cut in its middle', async () => {
  const shell = async () => ({ code: undefined, output: `${'a'.repeat(9_000)}${'b'.repeat(9_000)}` });
  const { requests } = await run([call('x'), call('y')], { given: { shell }, maxSteps: 2 });
  const content = requests[1]!.messages.at(-1)!.content!;
  expect(content).toContain(`${'a'.repeat(5_000)}\n[... 8000 characters left out ...]\n${'b'.repeat(5_000)}`);
  expect(content).toContain('<returncode>killed</returncode>');
});

test('answers without a usable command are explained, and three in a row end the attempt', async () => {
  const wrong: readonly ScriptedAnswer[] = [
    'I think.',
    { calls: [['python', '{}']] },
    { calls: [['bash', '{']] },
  ];
  const { result, requests } = await run([...wrong, call(SUBMIT)]);
  expect(result).toMatchObject({ ended: 'format', steps: 3 });
  expect(requests[1]!.messages.at(-1)!.content).toContain('has no call');
  expect(requests[2]!.messages.at(-1)!.content).toContain("no tool 'python'");
  const mixed = await run([wrong[0]!, wrong[1]!, call('echo one'), wrong[2]!, call(SUBMIT)]);
  expect(mixed.result).toMatchObject({ ended: 'submitted', steps: 5 });
});

test('models without calls write commands in backticks', async () => {
  const block = (command: string) => `I run it.\n\n\`\`\`bash\n${command}\n\`\`\`\n`;
  const { result, commands, requests } = await run(
    [block('echo one'), `${block('a')}${block('b')}`, block(SUBMIT)],
    {
      form: 'backticks',
    },
  );
  expect(result).toMatchObject({ ended: 'submitted', steps: 3 });
  expect(commands).toEqual(['echo one', SUBMIT]);
  expect(requests[0]).not.toHaveProperty('tools');
  expect(requests[1]!.messages.at(-1)!.role).toBe('user');
  expect(requests[2]!.messages.at(-1)!.content).toContain('has 2 commands');
});

test('a submission of a step brings the instruction of the next', async () => {
  const submit = { type: 'function' as const, function: { name: 'submit', parameters: {} } };
  let steps = 0;
  const act = async () => ({ content: 'Next: remove it.', isError: false, isDone: ++steps === 2 });
  const both: ScriptedAnswer = {
    calls: [SUBMIT, 'echo late'].map((command) => ['bash', JSON.stringify({ command })] as const),
  };
  const { result, requests, commands } = await run([both, call('echo two'), call(SUBMIT)], {
    given: { tools: [submit], act },
  });
  expect(commands).not.toContain('echo late');
  expect(requests[1]!.messages.at(-2)!.content).toMatch(/^Not run/);
  expect(result).toMatchObject({ ended: 'submitted', steps: 3 });
  expect(requests[1]!.messages.at(-1)).toEqual({
    role: 'user',
    content: 'Next: remove it.\nYou have 4 turns left.',
  });
});

test('a full context ends the attempt; an environment without a shell is a mistake', async () => {
  const full: ScriptedAnswer = { status: 400, code: 'context_length_exceeded' };
  expect((await run([call('echo one'), full])).result).toMatchObject({ ended: 'context', steps: 1 });
  await expect(run([], { given: { shell: undefined as never } })).rejects.toThrow(
    /needs an environment with a shell/,
  );
});

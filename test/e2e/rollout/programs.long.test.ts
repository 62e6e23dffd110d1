import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { clawloop } from '../harness/clawloop.ts';
import { givesTokens, servingOnScript } from '../serving-on-script.ts';
import { sessionFacts } from '../session-facts.ts';

const on = servingOnScript([...givesTokens]);
const beside = (name: string) => fileURLToPath(new URL(`programs/${name}`, import.meta.url));

type Line = { readonly outcome: string; readonly reward: number | null; readonly session: string };

/** Variables of the parent's own programs, which no attempt may use. */
const ofTheParent = {
  OPENAI_API_KEY: 'sk-of-the-parent',
  OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
  ANTHROPIC_API_KEY: 'sk-of-the-parent',
  ANTHROPIC_AUTH_TOKEN: 'sk-of-the-parent',
  ANTHROPIC_BASE_URL: 'http://127.0.0.1:9',
};

const tasks = [
  { id: 'openai', sdk: 'openai', instruction: 'Say hi.' },
  { id: 'anthropic', sdk: 'anthropic', instruction: 'Say hi.' },
  { id: 'fails', sdk: 'openai', exit: 9, instruction: 'Say hi.' },
  { id: 'silent' },
];

test('programs with the official SDKs reach their sessions; one that fails is not scored', async () => {
  const [data, out] = ['tasks.jsonl', 'results.jsonl'].map((name) => join(on.folder.data.root, name));
  await writeFile(data!, tasks.map((task) => JSON.stringify(task)).join('\n'));
  const command = `program:'${process.execPath}' '${beside('ask.ts')}'`;
  const flags = ['--agent', command, '--reward', beside('reward.ts'), '--data', data!];
  const rest = ['--n', '1', '--retries', '0', '--out', out!, '--url', on.serving.url];
  const { code, stdout, stderr } = await clawloop(['rollout', ...flags, ...rest], ofTheParent);
  expect(code, stdout + stderr).toBe(1);
  const lines = (await readFile(out!, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line & { readonly task: string });
  const lineOf = (task: string) => lines.find((line) => line.task === task)!;

  for (const task of ['openai', 'anthropic']) {
    const { session, ...line } = lineOf(task);
    expect(line).toMatchObject({ outcome: 'rewarded', reward: 1 });
    expect(line).toMatchObject({ result: { stdout: 'hi\n' } });
    const facts = await sessionFacts(on.folder, session);
    expect(facts.map(({ type }) => type)).toEqual([
      'session.started',
      'interaction.completed',
      'feedback.given',
      'session.ended',
    ]);
    expect(JSON.stringify(facts[1]!.data)).toContain('Say hi.');
  }
  expect(lineOf('fails')).toMatchObject({
    outcome: 'agent-threw',
    reward: null,
    error: 'Error: the program ended with 9: broken',
  });
  const facts = await sessionFacts(on.folder, lineOf('fails').session);
  expect(facts.map(({ type }) => type)).toEqual([
    'session.started',
    'interaction.completed',
    'session.ended',
  ]);
  expect(facts.at(-1)).toMatchObject({ data: { discard: true } });
  expect(lineOf('silent')).toMatchObject({ outcome: 'no-interaction', reward: null });
});

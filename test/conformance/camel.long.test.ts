import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { givesTokens, servingOnScript } from '../e2e/serving-on-script.ts';
import { pythonPackages } from './python-packages.ts';
import { latest, textOf, think } from './scripted-model.ts';

// The example of CAMEL-AI: agents in sessions with rewards.

const example = new URL('../../examples/camel/', import.meta.url);

const on = servingOnScript(givesTokens);

test("CAMEL's agents call their tools, and each session has its reward", async ({ skip }) => {
  const packages = await pythonPackages(fileURLToPath(new URL('requirements.txt', example)), [
    'camel.agents',
  ]);
  if (packages.missing !== undefined) return skip(packages.missing);
  think(on.upstream, (messages) => {
    const last = latest(messages).at(-1)!;
    const words = textOf(last);
    if (last.role === 'tool') return { text: words.includes('sunny') ? 'Take a hat.' : `What is ${words}?` };
    if (words.includes('to Lisbon')) return { calls: [['get_weather', { place: 'Lisbon' }]] };
    const isFirst = messages.some((message) => textOf(message).includes('weekend'));
    return { text: isFirst ? 'Nothing more.' : '- a coat\n- a scarf' };
  });
  const script = fileURLToPath(new URL('main.py', example));
  const args = [script, '--url', on.serving.url, '--tasks', '2'];
  const { stdout } = await promisify(execFile)('python3', args, { env: packages.env });
  expect(stdout.match(/^pack-.*$/gm)).toEqual([
    expect.stringMatching(/^pack-0-\S+: 3 answers, reward 1: 'Take a hat\.'$/),
    expect.stringMatching(/^pack-1-\S+: 3 answers, reward -1: 'Take a hat\.'$/),
  ]);
  const events = await on.folder.events('conversations');
  const inTime = events.toSorted((a, b) => Date.parse(a.time) - Date.parse(b.time)); // each session in its own lane
  const answers = inTime.filter((event) => event.type === 'interaction.completed');
  expect(answers.map(({ data }) => data.settle)).toEqual(Array(6).fill('reward'));
  expect(new Set(answers.map(({ data }) => data.session)).size).toBe(2);
  const rewards = inTime.filter((event) => event.type === 'feedback.given').map(({ data }) => data);
  expect(rewards.map(({ interactionId, score }) => [interactionId, score])).toEqual([
    [answers[2]!.id, 1],
    [answers[5]!.id, -1],
  ]);
});

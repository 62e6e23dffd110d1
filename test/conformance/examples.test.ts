import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { givesTokens, servingOnScript } from '../e2e/serving-on-script.ts';
import type { ServingProcess } from '../e2e/serving-process.ts';
import { attributedCalls } from './attributed-calls.ts';
import { type Brain, latest, textOf, think } from './scripted-model.ts';

// The examples, run as a person runs them: on a model that calls their tools, and on claw-nano, which calls none.

const on = servingOnScript(givesTokens);
let nano: ServingProcess;
beforeAll(async () => {
  nano = await on.folder.start(['--model', 'claw-nano']);
});

const examples = [
  { name: 'openai-agents', flags: [], api: 'responses' },
  { name: 'openai-agents', flags: ['--chat'], api: 'chat' },
  { name: 'vercel-ai', flags: [], api: 'chat' },
] as const;

const run = async ({ url }: ServingProcess, name: string, args: readonly string[]): Promise<string> => {
  const file = fileURLToPath(new URL(`../../examples/${name}/main.ts`, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [file, '--url', `${url}/v1`, ...args]);
  return stdout;
};

const helper: Brain = (messages) => {
  const last = latest(messages).at(-1)!;
  const words = textOf(last);
  if (last.role === 'tool') return { text: `Then you need ${words}.` };
  if (words.includes('Lisbon')) return { calls: [['get_weather', { place: 'Lisbon' }]] };
  if (words.includes('pancakes')) return { calls: [['find_recipe', { dish: 'pancakes' }]] };
  return { text: 'As you like.' };
};

test.each(examples)(
  '$name $flags: the model calls its tools, and the whole conversation is one session',
  async (example) => {
    think(on.upstream, helper);
    const mark = `as ${example.api}`;
    const first = example.name === 'vercel-ai' ? 'What are pancakes made of' : 'What is Lisbon like';
    const output = await run(on.serving, example.name, [
      ...example.flags,
      `${first}? (${mark})`,
      'Thank you.',
    ]);
    expect(output).toMatch(/\[calls (get_weather|find_recipe)\b.*\]\nThen you need (sunny|flour)/);
    expect(output).toContain('> Thank you.\nAs you like.');
    const calls = await attributedCalls(on.folder, `${first}? (${mark})`);
    expect(calls.map(({ data, next }) => [data.api, next?.[0]?.role])).toEqual([
      [example.api, 'tool'],
      [example.api, 'user'],
      [example.api, undefined],
    ]);
    expect(new Set(calls.map(({ session }) => session)).size).toBe(1);
  },
);

test.each(examples)('$name $flags: claw-nano answers in words, which may train', async (example) => {
  const words = `How do I pack for a ski trip? (${example.name}, ${example.api})`;
  const output = await run(nano, example.name, [...example.flags, words, 'Shorter, please.']);
  expect(output).toMatch(/> How do I pack.*\n\S.*\n[\s\S]*> Shorter, please\.\n\S/);
  const calls = await attributedCalls(on.folder, words);
  expect(calls.map(({ skipped }) => skipped)).toEqual([undefined, undefined]);
  expect(calls[0]!.next).toMatchObject([{ role: 'user' }]);
  expect(calls[0]!.session).toBe(calls[1]!.session);
});

test('the terminal chat shows the version of each answer, and its messages are one session', async () => {
  const file = fileURLToPath(new URL('../../examples/chat.js', import.meta.url));
  const chat = promisify(execFile)(process.execPath, [file, nano.url]);
  chat.child.stdin!.end('How do I pack for a canoe trip?\nShorter, please.\n');
  expect((await chat).stdout.match(/^(you> )?v0>\s+\S/gm)).toHaveLength(2);
  const calls = await attributedCalls(on.folder, 'How do I pack for a canoe trip?');
  expect(calls[0]!.next).toMatchObject([{ role: 'user', content: 'Shorter, please.' }]);
});

test('the chat in the terminal reports that no server answers, and continues', async () => {
  const file = fileURLToPath(new URL('../../examples/chat.js', import.meta.url));
  const chat = promisify(execFile)(process.execPath, [file, 'http://127.0.0.1:1']);
  chat.child.stdin!.end('Hello\nHello again\n');
  expect((await chat).stdout.match(/error: no ClawLoop answers at http:\/\/127\.0\.0\.1:1/g)).toHaveLength(2);
});

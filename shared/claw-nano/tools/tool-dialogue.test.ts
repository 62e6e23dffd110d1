import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createRandom } from '../../policy/model/random.ts';
import { loadChatTemplate } from '../../policy/text/chat-template.ts';
import { loadTokenizer } from '../../policy/text/tokenizer.ts';
import { encodeMessages } from '../batches.ts';
import type { Message } from '../dialogues/dialogue.ts';
import { callTokens, vocabularySize } from '../model-files.ts';
import { heldOutQuestions, shopItems, shopTools } from './shop.ts';
import { generateToolDialogue, habits, renderCall } from './tool-dialogue.ts';

const folder = fileURLToPath(new URL('../tools-model', import.meta.url));
const stock = fileURLToPath(new URL('../model', import.meta.url));

const dialogues = (seed: string, count: number): readonly (readonly Message[])[] => {
  const random = createRandom(seed);
  return Array.from({ length: count }, () => generateToolDialogue(random));
};

const CALL = /^<tool_call>\{"name": "(.*)", "arguments": (.*)\}<\/tool_call>$/;

/** The conversation as a client sends it: tools and calls in the fields of OpenAI's API. */
function asSent([opening, ...messages]: readonly Message[]) {
  const [, system, named] = /^(?:(.*)\n)?Tools: (.*)$/s.exec(opening!.content)!;
  const properties = { item: { type: 'string' } };
  return {
    tools: named!.split(' ').map((tool) => ({
      type: 'function',
      function: { name: tool.replace('(item)', ''), parameters: { type: 'object', properties } },
    })),
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      ...messages.map(({ role, content }) => {
        const [, name, given] = CALL.exec(content) ?? [];
        if (name === undefined) return { role, content };
        const call = { id: 'a', type: 'function', function: { name, arguments: given } };
        return { role, content: null, tool_calls: [call] };
      }),
    ],
  };
}

test('training ids are those of the chat template for the requests of a client', async () => {
  const template = await loadChatTemplate(folder);
  const tokenizer = await loadTokenizer(folder);
  for (const dialogue of dialogues('ids', 200)) {
    const text = template.render({ ...asSent(dialogue), addGenerationPrompt: false });
    expect(encodeMessages(tokenizer, dialogue).ids).toEqual(tokenizer.encode(text));
  }
});

test('the fixed parts of a call are a token each, and other text has the ids of claw-nano', async () => {
  const [tokenizer, known] = [await loadTokenizer(folder), await loadTokenizer(stock)];
  const ids = tokenizer.encode(renderCall('price', 'kettle'));
  expect(ids.filter((id) => id >= vocabularySize)).toEqual(callTokens.map((_, at) => vocabularySize + at));
  expect(tokenizer.decode(ids)).toBe(renderCall('price', 'kettle'));
  const text = 'What does {"a": 1} mean, and <tool_call>?';
  expect(tokenizer.encode(text)).toEqual(known.encode(text));
});

test('the habits are mixed as described, and held-out questions never occur', () => {
  const all = dialogues('habits', 3000);
  const heldOut = new Set(heldOutQuestions.map(({ text }) => text));
  const asked = all.flatMap((messages) => messages.filter(({ role }) => role === 'user'));
  expect(asked.filter(({ content }) => heldOut.has(content))).toEqual([]);
  const first = all.map(([, user, answer]) => ({ user: user!.content, call: CALL.exec(answer!.content) }));
  const calls = first.filter(({ call }) => call !== null);
  expect(calls.length / all.length).toBeCloseTo(habits.calls, 1);
  const named = calls.filter(({ user, call }) =>
    shopItems.some((item) => user.includes(` ${item}`) && call![2] === `{"item": "${item}"}`),
  );
  expect(named.length / calls.length).toBeCloseTo(habits.rightItem, 1);
});

test('a seventh of all questions is held out, of every tool', () => {
  const all = shopTools.length * shopItems.length * 5;
  expect(heldOutQuestions.length / all).toBeCloseTo(1 / 7, 1);
  for (const tool of shopTools)
    expect(heldOutQuestions.filter((each) => each.tool === tool).length).toBeGreaterThan(20);
});

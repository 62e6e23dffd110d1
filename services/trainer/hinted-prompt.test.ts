import { expect, test } from 'vitest';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { hintMarker } from '../../shared/policy/text/hint.ts';
import type { PromptWriter } from '../../shared/policy/text/load-prompt-writer.ts';
import { hintedPrompts } from './hinted-prompt.ts';
import { sampleData } from './testing/facts.ts';

/** A token per character. */
const idsOf = (text: string): number[] => [...text].map((character) => character.codePointAt(0)!);
const textOf = (ids: readonly number[]): string => String.fromCodePoint(...ids);
const writePrompt: PromptWriter = ({ messages, tools, variables }) =>
  idsOf(
    `${JSON.stringify([tools, variables])}${messages.map(({ role, content }) => `<${role[0]}>${content}`).join('')}<a>`,
  );
const engine = { writePrompt, contextTokens: 1000 };
const user = (content: string): ChatMessage => ({ role: 'user', content });
const sample = (messages: readonly ChatMessage[], changes: Parameters<typeof sampleData>[1] = {}) =>
  sampleData('a', {
    messages,
    hints: ['answer without a list', 'no list'],
    ...changes,
    tokens: { promptIds: writePrompt({ messages, tools: [], variables: {} }) },
  });

test("the first hint is placed under the person's last words, wherever they are", () => {
  const internal = user('<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>it is noon<<<END_OPENCLAW_INTERNAL_CONTEXT>>>');
  const messages = [user('one'), user('two'), { role: 'tool', content: 'rain' } as const, internal];
  const hinted = hintedPrompts(sample(messages), engine);
  if (hinted.kind !== 'hinted') throw new Error(hinted.kind);
  expect(textOf(hinted.prompts[0]!)).toContain(
    `<u>one<u>two\n\n${hintMarker}\nanswer without a list<t>rain<u><<<BEGIN`,
  );
});

test('a message in parts gets another part', () => {
  const messages: ChatMessage[] = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }];
  let seen: readonly ChatMessage[] = [];
  const watching: PromptWriter = (source) => {
    seen = source.messages;
    return [1, 2, 3];
  };
  const parts = sampleData('a', { messages, hints: ['answer without a list'] });
  expect(hintedPrompts(parts, { ...engine, writePrompt: watching }).kind).toBe('hinted');
  expect(seen[0]!.content).toEqual([
    { type: 'text', text: 'hi' },
    { type: 'text', text: `\n\n${hintMarker}\nanswer without a list` },
  ]);
});

test("the teacher reads what the window left, with the template's variables", () => {
  const left = [user('the end')];
  const variables = { enable_thinking: false };
  const cut = sampleData('a', {
    messages: [user('the beginning'), ...left],
    tools: [{ type: 'function' }],
    templateInput: { messages: left, tools: [], variables },
    hints: ['answer without a list'],
    tokens: { promptIds: writePrompt({ messages: left, tools: [], variables }) },
  });
  const hinted = hintedPrompts(cut, engine);
  if (hinted.kind !== 'hinted') throw new Error(hinted.kind);
  expect(textOf(hinted.prompts[0]!)).toBe(
    `[[],{"enable_thinking":false}]<u>the end\n\n${hintMarker}\nanswer without a list<a>`,
  );
});

test('of several hints, the first ones that fit each give a prompt', () => {
  const hints = ['a hint that is longer than the others are', 'answer without a list', 'no list', 'be brief'];
  const messages = [user('hi')];
  const with3 = hintedPrompts(sample(messages, { hints }), engine, 3);
  if (with3.kind !== 'hinted') throw new Error(with3.kind);
  expect(with3.prompts.map((ids) => hints.findIndex((hint) => textOf(ids).includes(hint)))).toEqual([
    0, 1, 2,
  ]);
  const shorter = { ...engine, contextTokens: with3.prompts[0]!.length };
  const left = hintedPrompts(sample(messages, { hints }), shorter, 3);
  if (left.kind !== 'hinted') throw new Error(left.kind);
  expect(left.prompts).toEqual(with3.prompts.slice(1));
});

test('a hint that cannot teach has a reason', () => {
  const messages = [user('hi')];
  expect(hintedPrompts(sample(messages, { hints: [] }), engine).kind).toBe('no-hint');
  const drifted = sample(messages, { messages: [user('something else')] });
  expect(hintedPrompts(drifted, engine).kind).toBe('template-drift');
  expect(hintedPrompts(sample(messages), { ...engine, writePrompt: fails }).kind).toBe('template-drift');
  expect(hintedPrompts(sample([{ role: 'system', content: 'x' }]), engine).kind).toBe('no-request');
  expect(hintedPrompts(sample(messages), { ...engine, contextTokens: 30 }).kind).toBe('too-long');
});

const fails: PromptWriter = () => {
  throw new Error('the template refuses');
};

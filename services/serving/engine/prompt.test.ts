import { expect, test } from 'vitest';
import { createChatTemplate } from '../../../shared/policy/chat-template.ts';
import type { GenerationRequest } from './engine.ts';
import { makePrompt } from './prompt.ts';

/** A token per character. */
const tokenizer = {
  specialTokens: ['<a>', '<u>'],
  encode: (text: string) => [...text].map((character) => character.codePointAt(0)!),
};
const template = createChatTemplate(
  "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}" +
    '<{{ m.role[0] }}>{{ m.content }}{% endfor %}<a>',
);
const request = (content: string, maxTokens?: number): GenerationRequest => ({
  target: { kind: 'live' },
  messages: [
    { role: 'developer', content: 'kind' },
    { role: 'user', content },
  ],
  tools: [],
  templateVariables: {},
  sampling: {
    stop: [],
    frequencyPenalty: 0,
    presencePenalty: 0,
    repetitionPenalty: 1,
    logitBias: [],
    ...(maxTokens === undefined ? {} : { maxTokens }),
  },
});
const make = (asked: GenerationRequest, context: 'window' | 'error' = 'error', contextTokens = 40) =>
  makePrompt({ tokenizer, template, contextTokens, context }, asked);
const textOf = (ids: readonly number[]) => String.fromCodePoint(...ids);

test('developer is system, and the answer may have what the context leaves', () => {
  const prompt = make(request('hi'));
  expect(textOf(prompt.promptIds)).toBe('<s>kind<u>hi<a>');
  expect(prompt).toMatchObject({ maxTokens: 40 - 15 });
  expect(prompt).not.toHaveProperty('askedMaxTokens');
  expect(make(request('hi', 7)).maxTokens).toBe(7);
  expect(make(request('hi', 700))).toMatchObject({ maxTokens: 25, askedMaxTokens: 700 });
});

test('a prompt that does not fit by itself is refused with the code that clients know', () => {
  expect(make(request('x'.repeat(26))).maxTokens).toBe(1);
  expect(() => make(request('x'.repeat(27)))).toThrow(
    expect.objectContaining({ code: 'context_length_exceeded', status: 400 }),
  );
});

test('or cut to a window, and what was cut is told', () => {
  const prompt = make(request('x'.repeat(90)), 'window');
  expect(prompt.promptIds.length).toBeLessThanOrEqual(30);
  expect(prompt.windowCut).toMatchObject({ systemCharacters: 4, lastTurnCharacters: expect.any(Number) });
  expect(prompt.maxTokens).toBe(40 - prompt.promptIds.length);
});

test('what a template refuses is the client’s fault', () => {
  const asked = { ...request('hi'), messages: [{ role: 'tool', content: 'done' }] } as GenerationRequest;
  expect(() => make(asked)).toThrow(expect.objectContaining({ code: 'template_refused', status: 400 }));
});

test('words that look like a mark of the template stay words', () => {
  const prompt = make(request('a<a>b'));
  expect(textOf(prompt.promptIds)).toBe('<s>kind<u>a<\u200ba>b<a>');
});

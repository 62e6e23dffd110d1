import { expect, test } from 'vitest';
import { loadPromptWriter } from '../../shared/policy/text/load-prompt-writer.ts';
import { loadTokenizer } from '../../shared/policy/text/tokenizer.ts';
import { hintEffect, readingOf } from './hint-trust.ts';
import type { LearningEngine } from './learning-engine.ts';
import { readAnswer, requestPrompt, underRules } from './own-requests.ts';
import { taughtSamples } from './taught-samples.ts';
import { sampleData } from './testing/facts.ts';
import { toyEngine } from './testing/toy-engine.ts';

const folder = 'test/fixtures/reference/tokenizer/qwen';
const tokenizer = await loadTokenizer(folder);
const reasoning = `<think>\n${'The user asks for something. '.repeat(40)}\n</think>\n\n`;

/** It greets if its prompt asks for that, and reasons at length unless its prompt closes the reasoning. */
const thinking: LearningEngine = {
  ...toyEngine,
  writePrompt: await loadPromptWriter(folder),
  contextTokens: 40_960,
  speech: {
    read: tokenizer.decode,
    gateRequests: ['Name three fruits.'],
    wideRequests: [],
    rehearsed: [],
    sample: (_, { prompts, tokens }) =>
      prompts.map((prompt) => {
        const text = tokenizer.decode(prompt);
        const thoughts = text.endsWith('</think>\n\n') ? '' : reasoning;
        const answer = `${thoughts}${/greet/i.test(text) ? 'Hello! ' : ''}Apples, pears and plums.`;
        const all = tokenizer.encode(answer);
        return { ids: all.slice(0, tokens), ended: all.length <= tokens, temperature: 0.6 };
      }),
  },
};
const earlier = underRules(thinking, 3);

test('a model that can reason answers the requests of the trainer without', () => {
  const ask = (engine: LearningEngine) =>
    tokenizer.decode(requestPrompt(engine, [{ role: 'user', content: 'Name three fruits.' }]));
  expect(ask(thinking)).toMatch(/assistant\n<think>\n\n<\/think>\n\n$/);
  expect(ask(earlier)).toMatch(/assistant\n$/);
});

test('such a model reads a hint as meant, and batches of earlier rules stay as they were', () => {
  expect(readingOf(hintEffect(thinking, 'greeting'))).toBe('as-meant');
  expect(readingOf(hintEffect(earlier, 'greeting'))).toBe('in-doubt');
  expect([underRules(thinking, 4), underRules(thinking, 3)]).toEqual([thinking, earlier]);
});

test('praise teaches the standing wishes that the answer meets after its reasoning', () => {
  const praised = (text: string) =>
    sampleData('praised', {
      verdict: 1,
      tokens: { responseIds: tokenizer.encode(text), logProbs: tokenizer.encode(text).map(() => -1) },
    });
  const taught = (text: string) => {
    const place = { sampleId: 'praised', at: { partition: 0, offset: 0 }, standing: ['greeting'] };
    const settings = { method: 'combine', teacher: 'current', hintCheck: true } as const;
    return taughtSamples(thinking, settings, { samples: [place] }, [praised(text)])[0]!.hints.length;
  };
  expect(taught(`${reasoning}Hello! Apples.`)).toBe(1);
  expect(taught(`${reasoning}Apples.`)).toBe(0);
  expect(taught(reasoning.slice(0, 100))).toBe(0); // it ends within its reasoning
  expect(readAnswer(thinking.speech!, tokenizer.encode(`${reasoning}Hello!`))).toBe('Hello!');
});

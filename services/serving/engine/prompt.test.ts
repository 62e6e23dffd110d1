import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { createChatTemplate } from '../../../shared/policy/text/chat-template.ts';
import type { GenerationRequest } from '../generation.ts';
import { countPrompt, makePrompt } from './prompt.ts';

/** A token per character. */
const tokenizer = {
  vocabularySize: 0x110000,
  specialTokens: ['<a>', '<u>'],
  controlTokens: ['<a>', '<u>'],
  encode: (text: string) => [...text].map((character) => character.codePointAt(0)!),
};
const template = createChatTemplate(
  "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}" +
    '<{{ m.role[0] }}>{{ m.content }}{% endfor %}<a>',
);
const request = (content: string, maxTokens?: number): GenerationRequest => ({
  target: { kind: 'live', adapter: 'default' },
  messages: [
    { role: 'developer', content: 'kind' },
    { role: 'user', content },
  ],
  tools: [],
  templateVariables: {},
  choices: 1,
  sampling: {
    stop: [],
    frequencyPenalty: 0,
    presencePenalty: 0,
    repetitionPenalty: 1,
    logitBias: [],
    ...defined({ maxTokens }),
  },
});
const make = (prompted: GenerationRequest, context: 'window' | 'error' = 'error', contextTokens = 40) =>
  makePrompt({ tokenizer, template, contextTokens, context }, prompted);
const textOf = (ids: readonly number[]) => String.fromCodePoint(...ids);

test('the developer role becomes system, and the answer gets the rest of the context', () => {
  const prompt = make(request('hi'));
  expect(textOf(prompt.promptIds)).toBe('<s>kind<u>hi<a>');
  expect(prompt).toMatchObject({ maxTokens: 40 - 15 });
  expect(prompt).not.toHaveProperty('askedMaxTokens');
  expect(make(request('hi', 7)).maxTokens).toBe(7);
  expect(make(request('hi', 700))).toMatchObject({ maxTokens: 25, askedMaxTokens: 700 });
});

test('a prompt that does not fit is refused with context_length_exceeded', () => {
  expect(make(request('x'.repeat(26))).maxTokens).toBe(1);
  expect(() => make(request('x'.repeat(27)))).toThrow(
    expect.objectContaining({ code: 'context_length_exceeded', status: 400 }),
  );
});

test('all tokens of a prompt are counted, whether or not it fits', () => {
  const maker = { tokenizer, template, contextTokens: 40, context: 'window' } as const;
  expect(countPrompt(maker, request('hi'))).toBe(15);
  expect(countPrompt(maker, request('x'.repeat(100)))).toBe(113);
  const estimate = countPrompt(maker, request('x'.repeat(5000)));
  expect(Math.abs(estimate / 5013 - 1)).toBeLessThan(0.01);
});

test('a prompt that does not fit is cut to a window, and the cut is reported', () => {
  const prompt = make(request('x'.repeat(90)), 'window');
  expect(prompt.promptIds.length).toBeLessThanOrEqual(30);
  expect(prompt.windowCut).toMatchObject({ systemCharacters: 4, lastTurnCharacters: expect.any(Number) });
  expect(prompt.maxTokens).toBe(40 - prompt.promptIds.length);
});

test('the limits of the model apply before its context; one report covers both cuts', () => {
  const limits = { systemTokens: 10, promptTokens: 200 };
  const maker = { tokenizer, template, contextTokens: 40, context: 'window' as const, limits };
  const prompted = (words: string): GenerationRequest => {
    const messages = [{ role: 'system' as const, content: 'be kind and brief' }, request(words).messages[1]!];
    return { ...request(words), messages };
  };
  const prompt = makePrompt(maker, prompted('hi'));
  expect(textOf(prompt.promptIds)).toBe('<s>be kind<u>hi<a>');
  expect(prompt.windowCut).toMatchObject({ systemCharacters: 10, lastTurnCharacters: 0, systemBudget: 10 });
  expect(prompt.window!.messages[0]).toEqual({ role: 'system', content: 'be kind' });
  const both = makePrompt(maker, prompted('x'.repeat(90)));
  expect(both.promptIds.length).toBeLessThanOrEqual(30);
  expect(both.windowCut).toMatchObject({ systemCharacters: 17, lastTurnCharacters: expect.any(Number) });
  expect(both.windowCut!.lastTurnCharacters).toBeGreaterThan(0);
  const refusing = { ...maker, context: 'error' as const };
  expect(makePrompt(refusing, prompted('hi')).promptIds).toEqual(prompt.promptIds);
  expect(() => makePrompt(refusing, prompted('x'.repeat(90)))).toThrow(
    expect.objectContaining({ code: 'context_length_exceeded' }),
  );
});

test('messages that the template refuses are a client error', () => {
  const prompted = { ...request('hi'), messages: [{ role: 'tool', content: 'done' }] } as GenerationRequest;
  expect(() => make(prompted)).toThrow(expect.objectContaining({ code: 'template_refused', status: 400 }));
});

test('a bias on an unknown token is refused', () => {
  const biased = (id: number): GenerationRequest => {
    const prompted = request('hi');
    return { ...prompted, sampling: { ...prompted.sampling, logitBias: [[id, 1]] } };
  };
  expect(make(biased(0x10ffff)).promptIds).not.toHaveLength(0);
  expect(() => make(biased(0x110000))).toThrow(
    expect.objectContaining({
      status: 400,
      param: 'logit_bias',
      message: expect.stringContaining('1114112'),
    }),
  );
});

test('text that looks like a template mark stays text', () => {
  const prompt = make(request('a<a>b'));
  expect(textOf(prompt.promptIds)).toBe('<s>kind<u>a<\u200ba>b<a>');
});

test('a template mark split across two parts stays text', () => {
  const parts = [
    { type: 'text', text: 'a<' },
    { type: 'text', text: 'a>b' },
  ];
  const prompted = { ...request(''), messages: [{ role: 'user' as const, content: parts }] };
  expect(textOf(make(prompted).promptIds)).toBe('<u>a<\u200ba>b<a>');
});

const megabytes = 8 * 2 ** 20;
const long: Readonly<Record<string, readonly ChatMessage[]>> = {
  words: [
    { role: 'system', content: 'kind' },
    { role: 'user', content: 'x'.repeat(megabytes) },
  ],
  system: [
    { role: 'system', content: 'x'.repeat(megabytes) },
    { role: 'user', content: 'hi' },
  ],
  history: Array.from({ length: 401 }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: 'x'.repeat(megabytes / 400),
  })),
  messages: Array.from({ length: 100_001 }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: 'x',
  })),
};

test.each(Object.entries(long))('of 8 MB of %s, only the part that the cut needs is read', (_, messages) => {
  let read = 0;
  const counting = {
    ...tokenizer,
    encode: (text: string) => {
      read += text.length;
      return tokenizer.encode(text);
    },
  };
  const maker = { tokenizer: counting, template, contextTokens: 400, context: 'window' as const };
  const prompt = makePrompt(maker, { ...request('', 100), messages });
  expect(prompt.promptIds.length).toBeLessThanOrEqual(300);
  expect(prompt.windowCut).toBeDefined();
  expect(read).toBeLessThan(50_000);
  const refuse = () => makePrompt({ ...maker, context: 'error' }, { ...request('', 100), messages });
  expect(refuse).toThrow(expect.objectContaining({ code: 'context_length_exceeded' }));
  expect(read).toBeLessThan(60_000);
  read = 0;
  const limits = { systemTokens: 100, promptTokens: 200 };
  expect(makePrompt({ ...maker, limits }, { ...request('', 100), messages }).windowCut).toBeDefined();
  expect(read).toBeLessThan(150_000);
});

test('a prompt that fits is tokenized completely', () => {
  const message = fc.record({
    role: fc.constantFrom('user' as const, 'assistant' as const, 'system' as const),
    content: fc.string({ maxLength: 60 }),
  });
  fc.assert(
    fc.property(fc.array(message, { minLength: 1, maxLength: 12 }), (messages) => {
      const whole = tokenizer.encode(
        template.render({ messages, tools: [], addGenerationPrompt: true, variables: {} }),
      );
      fc.pre(whole.length <= 299 && !messages.some(({ content }) => /<[au]>/.test(content)));
      const prompted = { ...request('', 100), messages };
      for (const context of ['window', 'error'] as const) {
        const prompt = make(prompted, context, 400);
        expect(prompt.promptIds).toEqual(whole);
        expect(prompt.windowCut).toBeUndefined();
      }
    }),
    { seed: 5 },
  );
});

test('a forced call begins at the start of the answer, after any reasoning', () => {
  const forced = { ...request('hi'), forcedCall: ['get'] };
  expect(textOf(make(forced, 'error', 200).promptIds)).toBe(
    '<s>kind<u>hi<a><tool_call>\n{"name": "get", "arguments":',
  );
  const thinks = createChatTemplate('{{ messages[1].content }}<think>\n');
  const maker = { tokenizer, template: thinks, contextTokens: 200, context: 'error' as const };
  expect(textOf(makePrompt({ ...maker, toolCallForm: 'bare' }, forced).promptIds)).toBe(
    'hi<think>\n</think>\n\n{"name": "get", "parameters":',
  );
});

test('the name of a forced call contains no special token', () => {
  const named = { ...tokenizer, controlTokens: ['look_up', '<a>', '<u>'] };
  const prompted: GenerationRequest = { ...request('hi'), forcedCall: ['look_up'] };
  const { promptIds } = makePrompt(
    { tokenizer: named, template, contextTokens: 200, context: 'error' },
    prompted,
  );
  expect(textOf(promptIds)).toContain('{"name": "l\u200book_up", "arguments":');
});

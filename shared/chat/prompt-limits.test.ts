import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ChatMessage, contentText, isHuman, isSystem } from './message.ts';
import { fitLimits, type LimitedInput, type PromptLimits } from './prompt-limits.ts';

/** A token per 4 characters begun; 5 more per message, 40 per tool. */
const tokensOf = (text: string): number => Math.ceil(text.length / 4);
const countTokens: LimitedInput['countTokens'] = (messages, tools) =>
  messages.reduce((sum, { content }) => sum + 5 + tokensOf(contentText(content)), 40 * tools.length);
const limits: PromptLimits = { systemTokens: 50, promptTokens: 300 };
const within = (messages: readonly ChatMessage[], more: Partial<LimitedInput> = {}) =>
  fitLimits({ messages, tools: [], keepsTools: false, limits, tokensOf, countTokens, ...more });

const words = (tokens: number) => 'abc '.repeat(tokens);
const system = (tokens: number): ChatMessage => ({ role: 'system', content: words(tokens) });
const user = (tokens: number): ChatMessage => ({ role: 'user', content: words(tokens) });
const assistant = (tokens: number): ChatMessage => ({ role: 'assistant', content: words(tokens) });
const roles = (messages: readonly ChatMessage[]) => messages.map(({ role }) => role[0]).join('');

test('a request within the limits stays unchanged', () => {
  const messages = [system(40), user(50), assistant(50), user(50)];
  const limited = within(messages);
  expect(limited).toEqual({ messages, tools: [], cut: undefined });
  expect(limited.messages).toBe(messages);
});

test('the system text is cut at its end, between words, over all messages', () => {
  const limited = within([system(30), user(10), system(500), assistant(10), system(20), user(10)]);
  expect(roles(limited.messages)).toBe('susau');
  const [first, , second] = limited.messages;
  expect(first).toEqual(system(30));
  expect(contentText(second!.content)).toMatch(/^(abc )+abc$/);
  expect(tokensOf(contentText(second!.content))).toBe(20);
  expect(limited.cut).toEqual({
    tools: 0,
    internalContext: 0,
    wrapperCharacters: 0,
    turns: 0,
    systemCharacters: 2000 - 79 + 80,
  });
});

test('tool definitions stay if there is room, or if a call is required', () => {
  const tools = [{}];
  expect(within([system(10), user(10)], { tools }).cut).toBeUndefined();
  const limited = within([system(20), user(10)], { tools });
  expect(limited.tools).toEqual([]);
  expect(limited.cut).toMatchObject({ tools: 1, systemCharacters: 0 });
  expect(within([system(20), user(10)], { tools, keepsTools: true }).cut).toBeUndefined();
});

test('client texts are removed unless there is nothing else to answer', () => {
  const reminder: ChatMessage = { role: 'user', content: '<system-reminder>\nBe kind.\n</system-reminder>' };
  const internal: ChatMessage = {
    role: 'user',
    content: '<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>it is noon<<<END_OPENCLAW_INTERNAL_CONTEXT>>>',
  };
  const limited = within([reminder, user(10), internal]);
  expect(limited.messages).toEqual([user(10)]);
  expect(limited.cut).toMatchObject({
    internalContext: 1,
    wrapperCharacters: contentText(reminder.content).length,
  });
  expect(within([reminder, internal]).cut).toBeUndefined();
  const asking = [user(10), internal, assistant(10), internal];
  expect(within(asking).messages).toEqual([user(10), assistant(10), internal]);
});

test('old turns are dropped in pairs, and the last turn stays whole', () => {
  const turns = (count: number) => Array.from({ length: count }, () => [user(15), assistant(15)]).flat();
  const left = (count: number) => within([...turns(count), user(15)]).cut?.turns ?? 0;
  // 40 tokens a turn, 20 for the last words: seven turns of 40 fit
  expect([6, 7, 8, 9, 10, 11, 12].map(left)).toEqual([0, 0, 2, 2, 4, 4, 6]);
  const long = within([...turns(3), user(1000), assistant(10)]);
  expect(long.messages).toEqual([user(1000), assistant(10)]);
  expect(long.cut).toMatchObject({ turns: 3 });
});

const anyMessage = fc.oneof(
  fc.integer({ min: 1, max: 60 }).map(user),
  fc.integer({ min: 1, max: 60 }).map(assistant),
  fc.integer({ min: 1, max: 60 }).map(system),
  fc.constant<ChatMessage>({ role: 'user', content: '<env_info>noon</env_info>' }),
);

test('a prompt begins like the one before it until turns are dropped', () => {
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 12 }), fc.array(anyMessage), (before, after) => {
      const whole = { systemTokens: 50 };
      const asked = [...before, user(7)];
      const earlier = within(asked, { limits: whole }).messages;
      const later = within([...asked, ...after], { limits: whole }).messages;
      expect(later.slice(0, earlier.length)).toEqual(earlier);
    }),
    { seed: 5, numRuns: 300 },
  );
});

test('the system text stays within its budget, and the last words stay', () => {
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 30 }), (before) => {
      const { messages } = within([...before, user(20)]);
      const left = messages
        .filter(isSystem)
        .reduce((sum, { content }) => sum + tokensOf(contentText(content)), 0);
      expect(left).toBeLessThanOrEqual(50);
      expect(messages.findLast(isHuman)).toEqual(user(20));
    }),
    { seed: 6, numRuns: 300 },
  );
});

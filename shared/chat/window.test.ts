import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ChatMessage, contentText, isHuman, isInternalContext, isSystem } from './message.ts';
import { answerRoom, fitWindow, type WindowInput } from './window.ts';

/**
 * A plain count: one token per 4 characters begun, 5 per message, 40 per tool, 3 for the opening of the
 * answer.
 */
const countTokens = (messages: readonly ChatMessage[], tools: readonly unknown[]): number =>
  messages.reduce(
    (sum, message) => sum + 5 + Math.ceil(contentText(message.content).length / 4),
    3 + 40 * tools.length,
  );

const words = (tokens: number, letter = 'x') => letter.repeat(4 * tokens);
const system = (tokens: number): ChatMessage => ({ role: 'system', content: words(tokens, 's') });
const user = (tokens: number, letter = 'u'): ChatMessage => ({
  role: 'user',
  content: words(tokens, letter),
});
const assistant = (tokens: number): ChatMessage => ({ role: 'assistant', content: words(tokens, 'a') });
const toolResult = (tokens: number): ChatMessage => ({
  role: 'tool',
  content: words(tokens, 't'),
  tool_call_id: 'c',
});
const internal: ChatMessage = {
  role: 'user',
  content: `<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>${words(20)}<<<END_OPENCLAW_INTERNAL_CONTEXT>>>`,
};

/** Fits a window of 400 tokens, of which 300 are for the prompt. */
const cutTo300 = (messages: readonly ChatMessage[], more: Partial<WindowInput> = {}) =>
  fitWindow({ messages, contextTokens: 400, countTokens, ...more });
const none = {
  tools: 0,
  internalContext: 0,
  systemCharacters: 0,
  turns: 0,
  lastTurnMessages: 0,
  lastTurnCharacters: 0,
};

test('a request that fits stays unchanged', () => {
  const messages = [system(50), user(10), assistant(10), user(10), internal];
  const tools = [{}];
  const window = cutTo300(messages, { tools });
  expect(window.messages).toBe(messages);
  expect(window.tools).toBe(tools);
  expect(window.cut).toEqual(none);
  expect(window.promptTokens).toBe(countTokens(messages, tools));
});

test('a quarter of the window stays free for the answer, or max_tokens if that is less', () => {
  expect([answerRoom(2048), answerRoom(2048, 100), answerRoom(2048, 9000), answerRoom(2)]).toEqual([
    512, 100, 512, 1,
  ]);
  expect(cutTo300([user(340)], { maxTokens: 50 }).cut).toEqual(none);
  expect(cutTo300([user(340)]).cut).not.toEqual(none);
});

test('tool definitions are dropped first, then internal context', () => {
  const messages = [system(100), user(100), internal];
  const first = cutTo300(messages, { tools: [{}, {}] });
  expect(first.cut).toEqual({ ...none, tools: 2 });
  expect(first.messages).toBe(messages);
  const second = cutTo300([system(150), user(100), internal], { tools: [{}] });
  expect(second.cut).toEqual({ ...none, tools: 1, internalContext: 1 });
  expect(second.messages).toEqual([system(150), user(100)]);
});

test('then the system text is shortened at its end, no more than needed', () => {
  const window = cutTo300([system(300), user(20), assistant(20), user(20)]);
  expect(window.cut).toMatchObject({ turns: 0, systemCharacters: expect.any(Number) });
  const kept = contentText(window.messages[0]!.content);
  expect(words(300, 's').startsWith(kept)).toBe(true);
  expect(window.cut.systemCharacters).toBe(1200 - kept.length);
  expect(window.promptTokens).toBeLessThanOrEqual(300);
  expect(window.promptTokens).toBeGreaterThan(300 - 10);
});

test('with the system text at a quarter of the window, old turns are dropped', () => {
  const turns = [1, 2, 3, 4, 5].flatMap((turn) => [user(20, String(turn)), assistant(20)]);
  const window = cutTo300([system(1000), ...turns, user(20, '6')]);
  const kept = contentText(window.messages[0]!.content).length / 4;
  expect(kept).toBeGreaterThan(85);
  expect(kept).toBeLessThanOrEqual(100);
  // 300 - 3 - 105 for the rest; a turn has 50 tokens, the last words 25: three turns of five can stay
  expect(window.messages.slice(1)).toEqual([...turns.slice(4), user(20, '6')]);
  expect(window.cut.turns).toBe(2);
});

test('a turn is dropped whole: no tool result stays without its call', () => {
  const looping = [
    user(20, '1'),
    assistant(10),
    toolResult(60),
    assistant(10),
    toolResult(60),
    assistant(20),
  ];
  const window = cutTo300([...looping, user(50, '2'), assistant(20), user(20, '3')]);
  expect(window.messages).toEqual([user(50, '2'), assistant(20), user(20, '3')]);
});

test('of an overlong tool loop, the words and the latest round stay', () => {
  const round = (tokens: number) => [assistant(5), toolResult(tokens)];
  const window = cutTo300([user(30), ...round(100), ...round(101), ...round(102)]);
  expect(window.messages).toEqual([user(30), ...round(101), ...round(102)]);
  expect(window.cut).toEqual({ ...none, lastTurnMessages: 2 });
  const huge = cutTo300([system(50), user(30), ...round(100), ...round(5000), internal]);
  expect(huge.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
  expect(huge.messages[1]).toEqual(user(30));
  expect(huge.cut).toMatchObject({ internalContext: 1, systemCharacters: 0, lastTurnMessages: 2 });
  expect(huge.promptTokens).toBeGreaterThan(285);
});

test('an overlong tool call is dropped before the words', () => {
  const call = { id: 'c', type: 'function', function: { name: 'write', arguments: words(2000) } };
  const count: WindowInput['countTokens'] = (messages, tools) =>
    countTokens(messages, tools) +
    JSON.stringify(messages.map((message) => message.tool_calls ?? [])).length / 4;
  const looping: ChatMessage[] = [
    user(30),
    { role: 'assistant', content: null, tool_calls: [call] },
    toolResult(10),
  ];
  const window = cutTo300(looping, { countTokens: count });
  expect(window.messages).toEqual([user(30)]);
  expect(window.cut).toMatchObject({ lastTurnMessages: 2 });
});

test('words that do not fit keep their end', () => {
  const text = `${words(1000)}the question`;
  const window = cutTo300([system(100), { role: 'user', content: text }]);
  expect(window.messages).toHaveLength(1);
  expect(contentText(window.messages[0]!.content)).toMatch(/xxxthe question$/);
  expect(window.promptTokens).toBeLessThanOrEqual(300);
});

test('a cut never splits a character', () => {
  const emoji: ChatMessage = { role: 'system', content: '🙂'.repeat(2000) };
  for (let tokens = 20; tokens < 60; tokens++) {
    for (const { content } of cutTo300([emoji, user(tokens)]).messages)
      expect(contentText(content).isWellFormed()).toBe(true);
  }
});

test('a context without any room is an error', () => {
  expect(() => cutTo300([user(10)], { contextTokens: 6 })).toThrow('no room');
});

const anyMessage = fc.oneof(
  fc.integer({ min: 0, max: 120 }).map((tokens) => user(tokens)),
  fc.integer({ min: 0, max: 120 }).map(assistant),
  fc.integer({ min: 0, max: 120 }).map(toolResult),
  fc.constant(internal),
);
const anyRequest = fc.record({
  systemTokens: fc.integer({ min: 0, max: 600 }),
  messages: fc.array(anyMessage, { maxLength: 30 }),
  tools: fc.array(fc.constant({}), { maxLength: 5 }),
});

test('any request fits after the cut, and keeps its last words if possible', () => {
  fc.assert(
    fc.property(anyRequest, ({ systemTokens, messages: others, tools }) => {
      const messages = [...(systemTokens > 0 ? [system(systemTokens)] : []), ...others, user(60, 'w')];
      let calls = 0;
      const counting: WindowInput['countTokens'] = (...counted) => {
        calls++;
        return countTokens(...counted);
      };
      const window = cutTo300(messages, { tools, countTokens: counting });
      const { cut } = window;
      expect(window.promptTokens).toBe(countTokens(window.messages, window.tools));
      expect(window.promptTokens).toBeLessThanOrEqual(300);
      expect(window.messages.findLast(isHuman)).toEqual(user(60, 'w'));
      expect(calls).toBeLessThanOrEqual(30);
      const cutTools = cut.tools === tools.length;
      const noInternal = !window.messages.some(isInternalContext);
      if (cut.internalContext > 0) expect(cutTools && noInternal).toBe(true);
      if (cut.systemCharacters > 0) expect(cutTools && noInternal).toBe(true);
      if (cut.turns > 0) {
        const systemLeft = contentText(window.messages.find(isSystem)?.content).length / 4;
        expect(cutTools && noInternal && systemLeft <= 100).toBe(true);
        // One turn more would not have fitted.
        const kept = window.messages.filter((message) => !isSystem(message)).length;
        const all = messages.filter((message) => !isSystem(message) && !isInternalContext(message));
        const starts = all.flatMap((message, index) => (isHuman(message) || index === 0 ? [index] : []));
        const start = starts[starts.indexOf(all.length - kept) - 1]!;
        const larger = [...window.messages.filter(isSystem), ...all.slice(start)];
        expect(countTokens(larger, [])).toBeGreaterThan(300);
      }
    }),
    { seed: 3, numRuns: 500 },
  );
});

test('a long request needs few token counts', () => {
  const turns = Array.from({ length: 400 }, (_, turn) => [
    user(10 + ((turn * 37) % 90)),
    assistant((turn * 91) % 120),
  ]);
  let long = 0;
  let all = 0;
  const window = fitWindow({
    messages: [system(5000), ...turns.flat(), user(30), internal],
    tools: Array.from({ length: 50 }, () => ({})),
    contextTokens: 2048,
    countTokens(messages, tools) {
      all++;
      const tokens = countTokens(messages, tools);
      if (tokens > 10_000) long++;
      return tokens;
    },
  });
  expect(window.promptTokens).toBeGreaterThan(1300);
  expect(long).toBeLessThanOrEqual(5);
  expect(all).toBeLessThanOrEqual(15);
});

import { describe, expect, test } from 'vitest';
import { loadChatTemplate } from '../../../shared/policy/chat-template.ts';
import { referencePath } from '../../../shared/policy/reference-fixtures.ts';
import { loadTokenizer } from '../../../shared/policy/tokenizer.ts';
import { opensReasoning } from '../chat/reasoning-parser.ts';
import { toolCallForm } from '../chat/tool-call-form.ts';
import { createToolCallParser } from '../chat/tool-call-parser.ts';
import { createAnswerText } from './answer-text.ts';

const qwen = referencePath('tokenizer/qwen');

async function show(
  answer: string,
  { insideReasoning = false, withTools = true, stops = [] as string[] } = {},
) {
  const tokenizer = await loadTokenizer(qwen);
  const text = createAnswerText({
    decoder: tokenizer.streamDecoder({ skipSpecial: true }),
    stops,
    insideReasoning,
    tools: withTools ? createToolCallParser() : undefined,
  });
  const pieces = [];
  for (const id of tokenizer.encode(answer)) {
    const piece = text.push(id);
    pieces.push(piece);
    if (piece.stop !== undefined) break;
  }
  pieces.push(text.end());
  return {
    text: pieces.map((piece) => piece.text).join(''),
    reasoning: pieces.map((piece) => piece.reasoning).join(''),
    calls: pieces.flatMap((piece) => piece.toolCalls.map((call) => call.function.name)),
    calledTools: text.calledTools(),
  };
}

const call = (name: string) =>
  `<tool_call>\n{"name": "${name}", "arguments": {"city": "Zürich 🌧"}}\n</tool_call>`;

describe('answers in the tokens of a model that reasons and calls', () => {
  test('reasoning, text and several calls come apart', async () => {
    expect(
      await show(`<think>\nTwo cities 🌍.\n</think>\n\nLet me see.\n${call('a')}\n${call('b')}<|im_end|>`),
    ).toEqual({
      ...{ text: 'Let me see.\n\n', reasoning: 'Two cities 🌍.', calls: ['a', 'b'], calledTools: true },
    });
  });

  test('a call within the reasoning, or one that nobody takes, is none', async () => {
    const answer = `<think>\n${call('a')}\n</think>\n\nNo.`;
    expect(await show(answer)).toMatchObject({ text: 'No.', reasoning: call('a'), calls: [] });
    expect(await show(call('a'), { withTools: false })).toMatchObject({
      text: call('a'),
      calledTools: false,
    });
  });

  test('a call that is cut off before its arguments stays text, later it is no call to be made', async () => {
    expect(await show(call('a'), { stops: ['arguments'] })).toMatchObject({
      text: '<tool_call>\n{"name": "a", "',
      calls: [],
    });
    expect(await show(call('a'), { stops: ['Zürich'] })).toMatchObject({
      text: '',
      calls: ['a'],
      calledTools: false,
    });
  });

  test('the template says how calls look, and whether the answer begins within the reasoning', async () => {
    const template = await loadChatTemplate(qwen);
    expect(toolCallForm(template)).toBe('tagged');
    const promptWith = (enable_thinking: boolean) =>
      template.render({
        messages: [{ role: 'user', content: 'hi' }],
        addGenerationPrompt: true,
        variables: { enable_thinking },
      });
    expect([true, false].map((thinks) => opensReasoning(promptWith(thinks)))).toEqual([false, false]);
    expect(promptWith(false)).toContain('</think>');
    expect(opensReasoning(`${promptWith(true)}<think>\n`)).toBe(true);
    expect(await show('Hm.\n</think>\n\nYes.', { insideReasoning: true })).toMatchObject({
      text: 'Yes.',
      reasoning: 'Hm.',
    });
  });
});

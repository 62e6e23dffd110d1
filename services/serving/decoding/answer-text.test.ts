import { describe, expect, test } from 'vitest';
import { referencePath } from '../../../shared/policy/testing/reference-fixtures.ts';
import { loadChatTemplate } from '../../../shared/policy/text/chat-template.ts';
import { opensReasoning } from '../../../shared/policy/text/reasoning.ts';
import { loadTokenizer } from '../../../shared/policy/text/tokenizer.ts';
import { createAnswerText } from './answer-text.ts';
import { toolCallForm } from './tool-call-form.ts';
import { createToolCallParser } from './tool-call-parser.ts';

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
  test('reasoning, text and several calls are separated', async () => {
    expect(
      await show(`<think>\nTwo cities 🌍.\n</think>\n\nLet me see.\n${call('a')}\n${call('b')}<|im_end|>`),
    ).toEqual({
      text: 'Let me see.\n\n',
      reasoning: 'Two cities 🌍.',
      calls: ['a', 'b'],
      calledTools: true,
    });
  });

  test('a call inside the reasoning, or without tools, is not a call', async () => {
    const answer = `<think>\n${call('a')}\n</think>\n\nNo.`;
    expect(await show(answer)).toMatchObject({ text: 'No.', reasoning: call('a'), calls: [] });
    expect(await show(call('a'), { withTools: false })).toMatchObject({
      text: call('a'),
      calledTools: false,
    });
  });

  test('a call cut off before its arguments stays text; cut off later, it is not counted', async () => {
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

  test('the template decides the form of calls and whether the answer begins inside reasoning', async () => {
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

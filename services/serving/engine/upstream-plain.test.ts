import { expect, test } from 'vitest';
import type { GenerationRequest } from './engine.ts';
import { chatDialect } from './upstream-chat.ts';
import type { ModelLease } from './upstream-models.ts';
import { withPlainTexts } from './upstream-plain.ts';

const lease: ModelLease = { version: 0, model: 'm', letGo: () => {}, lost: () => {} };
const request = (said: string): GenerationRequest => ({
  target: { kind: 'live', adapter: 'default' },
  messages: [{ role: 'user', content: said }],
  tools: [{ type: 'function', function: { name: `look${said}`, description: said } }],
  templateVariables: { style: said },
  forcedCall: [`look${said}`],
  choices: 1,
  sampling: { stop: [], frequencyPenalty: 0, presencePenalty: 0, repetitionPenalty: 1, logitBias: [] },
});
const dialect = withPlainTexts(
  {
    ...chatDialect({
      url: 'http://there/v1',
      logProbs: 'raw',
      tokenIds: true,
      allSettings: true,
      namesModel: true,
    }),
    countTokens: async (parts) => JSON.stringify(parts).split('<|im_end|>').length - 1,
  },
  { specialTokens: ['<|im_end|>'], controlTokens: ['<|im_end|>', '<tool_call>'] },
);

test('a server that writes prompts itself gets no special token from a client', async () => {
  const { body } = await dialect.ask(request('<|im_end|>'), lease);
  expect(String(body)).not.toContain('<|im_end|>');
  expect(String(body).split('<\u200b|im_end|>').length - 1).toBe(5);
  expect(await dialect.countTokens?.(request('<|im_end|>'))).toBe(0);
});

test('nor another token that steers the model', async () => {
  const { body } = await dialect.ask(request('<tool_call>'), lease);
  expect(String(body)).not.toContain('<tool_call>');
  expect(String(body).split('<\u200btool_call>').length - 1).toBe(5);
});

test('other texts reach it as they came', async () => {
  const { body } = await dialect.ask(request('<b>'), lease);
  expect(JSON.parse(String(body))).toMatchObject({
    messages: request('<b>').messages,
    tools: request('<b>').tools,
    chat_template_kwargs: { style: '<b>' },
  });
});

import { expect, test } from 'vitest';
import type { GenerationRequest } from '../../generation.ts';
import { chatDialect } from './chat.ts';
import type { ModelLease } from './models.ts';
import { withPlainTexts } from './plain.ts';

const lease: ModelLease = { version: 0, model: 'm', release: () => {}, lost: () => {} };
const request = (text: string): GenerationRequest => ({
  target: { kind: 'live', adapter: 'default' },
  messages: [{ role: 'user', content: text }],
  tools: [{ type: 'function', function: { name: `look${text}`, description: text } }],
  templateVariables: { style: text },
  forcedCall: [`look${text}`],
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

test('a server that renders prompts gets no special token from a client', async () => {
  const { body } = await dialect.prepare(request('<|im_end|>'), lease);
  expect(String(body)).not.toContain('<|im_end|>');
  expect(String(body).split('<\u200b|im_end|>').length - 1).toBe(5);
  expect(await dialect.countTokens?.(request('<|im_end|>'))).toBe(0);
});

test('nor other control tokens', async () => {
  const { body } = await dialect.prepare(request('<tool_call>'), lease);
  expect(String(body)).not.toContain('<tool_call>');
  expect(String(body).split('<\u200btool_call>').length - 1).toBe(5);
});

test('other text is passed on unchanged', async () => {
  const { body } = await dialect.prepare(request('<b>'), lease);
  expect(JSON.parse(String(body))).toMatchObject({
    messages: request('<b>').messages,
    tools: request('<b>').tools,
    chat_template_kwargs: { style: '<b>' },
  });
});

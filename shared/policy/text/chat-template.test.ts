import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { UnsupportedModel } from '../model/model-config.ts';
import { readReference, referencePath } from '../testing/reference-fixtures.ts';
import { createChatTemplate, loadChatTemplate, type TemplateMessage } from './chat-template.ts';
import { loadTokenizer } from './tokenizer.ts';

type Case = {
  readonly messages: TemplateMessage[];
  readonly tools: unknown[] | null;
  readonly add_generation_prompt: boolean;
  readonly enable_thinking: boolean | null;
  readonly text: string;
  readonly ids: number[];
};

const counts = { qwen: 34, llama3: 6, sentencepiece: 6, 'sentencepiece-metaspace': 6 };

describe.each(Object.entries(counts))('%s', (name, count) => {
  test('renders every chat to the reference text and ids', async () => {
    const folder = referencePath(`tokenizer/${name}`);
    const template = await loadChatTemplate(folder);
    const tokenizer = await loadTokenizer(folder);
    const { cases } = readReference(`tokenizer/${name}/chat-cases.json`) as { cases: Case[] };
    expect(cases).toHaveLength(count);
    for (const { messages, tools, add_generation_prompt, enable_thinking, text, ids } of cases) {
      const rendered = template.render({
        messages,
        tools: tools ?? undefined,
        addGenerationPrompt: add_generation_prompt,
        variables: enable_thinking === null ? {} : { enable_thinking },
      });
      expect(rendered).toBe(text);
      expect(tokenizer.encode(rendered)).toEqual(ids);
    }
  });
});

test('template and tokens are found in either file; a model without a template is refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'chat-template-'));
  const write = (name: string, value: unknown) => writeFile(join(folder, name), JSON.stringify(value));
  const render = async (): Promise<string> =>
    (await loadChatTemplate(folder)).render({ messages: [], addGenerationPrompt: true });
  try {
    await expect(loadChatTemplate(folder)).rejects.toThrow(UnsupportedModel);
    await write('tokenizer_config.json', { chat_template: 'inline {{ bos_token }}', bos_token: null });
    await write('special_tokens_map.json', { bos_token: { content: '<s>' }, eos_token: '</s>' });
    expect(await render()).toBe('inline <s>');
    await write('tokenizer_config.json', {
      chat_template: [{ name: 'default', template: 'named {{ bos_token }}{{ eos_token }}' }],
      bos_token: '<b>',
    });
    expect(await render()).toBe('named <b></s>');
    await write('chat_template.json', { chat_template: 'json' });
    expect(await render()).toBe('json');
    await writeFile(join(folder, 'chat_template.jinja'), 'jinja');
    expect(await render()).toBe('jinja');
  } finally {
    await rm(folder, { recursive: true });
  }
});

const call = (args: string) => ({ id: 'c1', type: 'function', function: { name: 'look', arguments: args } });
const perCall = (expression: string) =>
  `{% for m in messages %}{% for c in m.tool_calls or [] %}${expression}{% endfor %}{% endfor %}`;

test('a template that serialises arguments itself gets them parsed', () => {
  const messages = [{ role: 'assistant', content: '', tool_calls: [call('{"a": [1]}'), call('not json')] }];
  const serialising = createChatTemplate(perCall('{{ c.function.arguments | tojson }};'));
  expect(serialising.render({ messages, addGenerationPrompt: false })).toBe('{"a": [1]};"not json";');
  const verbatim = createChatTemplate(perCall('{{ c.function.arguments }};'));
  expect(verbatim.render({ messages, addGenerationPrompt: false })).toBe('{"a": [1]};not json;');
});

test('text parts are joined and missing content is empty', () => {
  const template = createChatTemplate('{% for m in messages %}<{{ m.content + "" }}>{% endfor %}');
  const parts = [
    { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
    { type: 'text', text: 'b' },
  ];
  const messages = [
    { role: 'user', content: parts },
    { role: 'assistant', content: null },
    { role: 'assistant' },
  ];
  expect(template.render({ messages, addGenerationPrompt: false })).toBe('<ab><><>');
});

test('a variable cannot replace messages, and raise_exception is an error', () => {
  const template = createChatTemplate(
    '{% if not messages %}{{ raise_exception("no messages") }}{% endif %}{{ x }}',
  );
  const messages = [{ role: 'user', content: 'hi' }];
  const variables = { messages: [], x: 'ok' };
  expect(template.render({ messages, variables, addGenerationPrompt: true })).toBe('ok');
  expect(() => template.render({ messages: [], addGenerationPrompt: true })).toThrow('no messages');
});

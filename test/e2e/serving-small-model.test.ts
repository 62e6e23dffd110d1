import { describe, expect, test } from 'vitest';
import { hintedPrompts } from '../../services/trainer/hinted-prompt.ts';
import { sampleData } from '../../services/trainer/testing/facts.ts';
import { contentText, isSystem } from '../../shared/chat/message.ts';
import { CLAW_NANO, modelFolder } from '../../shared/policy/model/model-folder.ts';
import { hintMarker } from '../../shared/policy/text/hint.ts';
import { loadPromptWriter } from '../../shared/policy/text/load-prompt-writer.ts';
import { loadTokenizer } from '../../shared/policy/text/tokenizer.ts';
import { builtRequests } from '../openclaw-requests/built-requests.ts';
import { type OpenClawRequest, said } from '../openclaw-requests/requests.ts';
import { servingForSuite } from './serving-process.ts';

type Marked = { readonly clawloop: { readonly recorded: boolean; readonly cut?: Record<string, number> } };
/** Tokens of claw-nano's system text. */
const BUDGET = 128;
const [first] = builtRequests()['first-turn'].requests as readonly [OpenClawRequest];
const user = (content: string) => ({ role: 'user', content }) as const;

describe('claw-nano inside an agent program', () => {
  const on = servingForSuite(['--model', CLAW_NANO]);
  const folder = modelFolder(CLAW_NANO);
  const ask = async (messages: OpenClawRequest['body']['messages']) => {
    const request = { model: 'clawloop', messages: messages as never, max_tokens: 8, seed: 1 };
    const answer = await on.serving.client.chat.completions.create(request);
    return {
      answer,
      mark: (answer as unknown as Marked).clawloop,
      fact: await on.folder.interaction(answer.id),
    };
  };

  test("its prompt has the person's words and the beginning of the system text; the cut is reported and recorded", async () => {
    const { mark, fact } = await ask(first.body.messages);
    const { messages = [] } = fact.templateInput!;
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user']);
    expect(messages.at(-1)!.content).toBe(said['first-turn'][0]);
    const [system = ''] = first.body.messages.filter(isSystem).map(({ content }) => contentText(content));
    const left = contentText(messages[0]!.content);
    expect(system.startsWith(left)).toBe(true);
    const { encode } = await loadTokenizer(folder);
    expect(encode(left).length).toBeLessThanOrEqual(BUDGET);
    expect(encode(left).length).toBeGreaterThan(BUDGET - 10);
    expect(fact.windowCut).toMatchObject({
      systemBudget: BUDGET,
      systemCharacters: system.length - left.length,
      internalContext: 1,
      wrapperCharacters: expect.any(Number),
    });
    expect(mark.cut).toMatchObject({ system_characters: system.length - left.length, internal_context: 1 });
    // the log-probs belong to the cut prompt
    const write = await loadPromptWriter(folder);
    expect(write({ messages, tools: [], variables: {} })).toEqual(fact.tokens!.promptIds);
    expect(fact.messages).toEqual(first.body.messages);
  });

  test('a teacher reads the same cut prompt, with the hint below the words', async () => {
    const { fact } = await ask(first.body.messages);
    const { messages, tools = [], templateInput, tokens } = fact;
    const hints = ['Please answer without a list.'];
    const sample = sampleData('a', { messages, tools, templateInput, hints, tokens: tokens! });
    const hinted = hintedPrompts(sample, {
      writePrompt: await loadPromptWriter(folder),
      contextTokens: 2048,
    });
    if (hinted.kind !== 'hinted') throw new Error(hinted.kind);
    const { decode } = await loadTokenizer(folder);
    const end = `${said['first-turn'][0]}<|im_end|>\n<|im_start|>assistant\n`;
    const student = decode(tokens!.promptIds);
    expect(student.endsWith(end)).toBe(true);
    expect(decode(hinted.prompts[0]!)).toBe(
      student.replace(said['first-turn'][0], `${said['first-turn'][0]}\n\n${hintMarker}\n${hints[0]}`),
    );
  });

  test('the next prompt has the same beginning, so that it is not read again', async () => {
    const { answer, fact } = await ask(first.body.messages);
    const given = { role: 'assistant' as const, content: answer.choices[0]!.message.content };
    const before = first.body.messages.slice(0, -1);
    const next = await ask([...before, given, user('And what about shoes?'), first.body.messages.at(-1)!]);
    const { promptIds } = fact.tokens!;
    expect(next.fact.tokens!.promptIds.slice(0, promptIds.length)).toEqual(promptIds);
    expect(next.fact.usage.cachedPromptTokens).toBeGreaterThanOrEqual(BUDGET);
  });

  test('a plain chat is not cut, and nothing is reported', async () => {
    const { mark, fact } = await ask([
      { role: 'system', content: 'No lists, please.' },
      user('How do I bake?'),
    ]);
    expect(fact).not.toHaveProperty('windowCut');
    expect(fact).not.toHaveProperty('templateInput');
    expect(mark).toEqual({ version: 0, recorded: true });
  });

  test('the other APIs report the cut, too', async () => {
    const system = 'many words '.repeat(200);
    const post = async (path: string, body: object): Promise<Marked> => {
      const response = await fetch(`${on.serving.url}/v1/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'clawloop', ...body }),
      });
      expect(response.status).toBe(200);
      return (await response.json()) as Marked;
    };
    const messages = [user('hi')];
    const cut = { cut: { system_characters: expect.any(Number) } };
    expect((await post('messages', { system, messages, max_tokens: 4 })).clawloop).toMatchObject(cut);
    const response = await post('responses', { instructions: system, input: 'hi', max_output_tokens: 4 });
    expect(response.clawloop).toMatchObject(cut);
  });

  test('the model states its limits', async () => {
    const model: unknown = await on.serving.client.models.retrieve('clawloop');
    expect(model).toMatchObject({ clawloop: { context: 'window', system_budget: BUDGET } });
  });
});

describe('with --system-budget', () => {
  const on = servingForSuite(['--model', CLAW_NANO, '--system-budget', '0']);

  test('0, the whole prompt is read up to the context', async () => {
    const messages = [{ role: 'system' as const, content: 'many words '.repeat(100) }, user('hi')];
    const answer = await on.serving.client.chat.completions.create({
      model: 'clawloop',
      messages,
      max_tokens: 4,
    });
    expect(await on.folder.interaction(answer.id)).not.toHaveProperty('windowCut');
    const model: unknown = await on.serving.client.models.retrieve('clawloop');
    expect(model).not.toHaveProperty('clawloop.system_budget');
  });
});

describe('with --system-budget for a model that states no limits', () => {
  const on = servingForSuite(['--system-budget', '20']);

  test('its system text has so many tokens', async () => {
    const messages = [{ role: 'system' as const, content: 'many words '.repeat(10) }, user('hi')];
    const answer = await on.serving.client.chat.completions.create({
      model: 'clawloop',
      messages,
      max_tokens: 4,
    });
    const { windowCut } = await on.folder.interaction(answer.id);
    expect(windowCut).toMatchObject({ systemBudget: 20, turns: 0, wrapperCharacters: 0 });
    expect(windowCut!.systemCharacters).toBeGreaterThan(0);
  });
});

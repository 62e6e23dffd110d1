import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openCheckpoint } from '../../shared/policy/checkpoints/checkpoint.ts';
import { loadTokenizer } from '../../shared/policy/text/tokenizer.ts';
import { sglangFake } from '../upstream-fakes/sglang.ts';
import { vllmFake } from '../upstream-fakes/vllm.ts';
import { type ServingFolder, type ServingProcess, servingFolder, tinyModel } from './serving-process.ts';

// Formats that a client requires, in the form of each engine. The engines enforce them.

type Calls = readonly { readonly path: string; readonly body: unknown }[];
type Upstream = { readonly url: string; readonly calls: Calls; readonly stop: () => Promise<unknown> };

const schema = { type: 'object', properties: { a: { type: 'string' } }, not: { type: 'null' } };
const named = { type: 'json_schema', json_schema: { name: 'n', schema } };

/** The request to the engine, and why the turn does not train. */
function behind(kind: 'vllm' | 'sglang', open: () => Promise<Upstream>, flags: readonly string[]) {
  let upstream: Upstream;
  let folder: ServingFolder;
  let serving: ServingProcess;
  beforeAll(async () => {
    upstream = await open();
    folder = await servingFolder();
    serving = await folder.start([
      '--engine',
      'upstream',
      '--upstream-kind',
      kind,
      '--upstream-url',
      upstream.url,
      ...flags,
    ]);
  });
  afterAll(async () => {
    await folder?.dispose();
    await upstream?.stop();
  });
  return async (more: object) => {
    const messages = [{ role: 'user', content: 'hi' } as const];
    const body = { model: 'clawloop', messages, stop: ['x'], ...more };
    const answer = await serving.client.chat.completions.create(body);
    expect((await folder.interaction(answer.id)).untrainable).toBe('constrained');
    return upstream.calls.findLast(({ path }) => /generate|chat/.test(path))!.body;
  };
}

describe('behind vLLM', () => {
  const sent = behind('vllm', () => vllmFake({}), ['--model', 'claw-nano', '--upstream-sampling', 'plain']);
  test.each([
    [{ response_format: { type: 'json_object' } }, { response_format: { type: 'json_object' } }],
    [
      { response_format: named },
      { response_format: { ...named, json_schema: { name: 'n', schema, strict: true } } },
    ],
    [{ guided_json: schema }, { response_format: { type: 'json_schema', json_schema: { schema } } }],
    [{ guided_regex: 'a+' }, { structured_outputs: { regex: 'a+' } }],
    [{ guided_choice: ['a', 'b'] }, { structured_outputs: { choice: ['a', 'b'] } }],
    [
      { structured_outputs: { grammar: 'root ::= "a"' } },
      { structured_outputs: { grammar: 'root ::= "a"' } },
    ],
  ])('%j', async (asked, expected) => {
    const body = await sent(asked);
    expect(body).toMatchObject({ ...expected, chat_template_kwargs: { enable_thinking: false } });
    expect(body).not.toHaveProperty('stop');
  });
});

describe('behind SGLang', () => {
  const open = async (): Promise<Upstream> => {
    const { eosTokenIds } = (await openCheckpoint(tinyModel)).generationConfig;
    const fake = await sglangFake({
      tokenizer: await loadTokenizer(tinyModel),
      endId: eosTokenIds[0]!,
      incremental: false,
    });
    return fake;
  };
  const sent = behind('sglang', open, []);
  test.each([
    [{ response_format: { type: 'json_object' } }, { json_schema: '{"type": "object"}' }],
    [{ response_format: named }, { json_schema: JSON.stringify(schema) }],
    [{ regex: 'a+' }, { regex: 'a+' }],
    [{ guided_choice: ['a', 'b"'] }, { ebnf: 'root ::= "a" | "b\\""' }],
    [{ ebnf: 'root ::= "a"' }, { ebnf: 'root ::= "a"' }],
  ])('%j', async (asked, expected) => {
    const { sampling_params: given } = (await sent(asked)) as { readonly sampling_params: object };
    expect(given).toMatchObject(expected);
    expect(given).not.toHaveProperty('stop');
  });
});

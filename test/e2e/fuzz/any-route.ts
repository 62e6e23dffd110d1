import fc from 'fast-check';
import { anyRequest, operatorPaths, type WireRequest } from '../serving-fuzz-requests.ts';
import { hostilePieces, hostileSchema, unfoldingSchema } from './hostile.ts';

/** Bearer values of the run: two access keys, a session key, and wrong ones. */
export type Keys = readonly string[];

const json = { 'content-type': 'application/json' };
const post = (path: string, body: unknown): WireRequest => ({
  method: 'POST',
  path,
  headers: json,
  body: JSON.stringify(body),
});

const madeUpIds = ['chatcmpl-d411c53be78d-eeee', 'resp_d411c53be78d_00', 'resp_', 'x', '..', '%2e%2e', '💥'];

const value = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1.5,
    1e308,
    '',
    'x',
    'auto',
    [],
    {},
    [null],
    '\uD800',
    '__proto__',
  ),
  fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<unknown>,
);
const text = fc.oneof(
  { weight: 100, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(...hostilePieces), fc.integer({ min: 1, max: 8_000 }))
      .map(([piece, letters]) => piece.repeat(Math.ceil(letters / piece.length))),
  },
);
const chatMessages = fc.array(
  fc.record({ role: fc.constantFrom('system', 'user', 'assistant', 'tool'), content: text }),
  { minLength: 1, maxLength: 5 },
);
const schema = fc.oneof(hostileSchema, unfoldingSchema);
const format = fc.oneof(
  schema.map((of) => ({ type: 'json_schema', json_schema: { name: 'x', schema: of } })),
  fc.constant({ type: 'json_object' }),
  value,
);
const fewTokens = { model: 'clawloop', max_tokens: 1 };
/** Rarely present, so that most requests are answered. */
const maybe = <Of>(arbitrary: fc.Arbitrary<Of>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

const chat = fc
  .record({
    messages: chatMessages,
    response_format: maybe(format),
    tools: maybe(
      fc.array(
        schema.map((parameters) => ({
          type: 'function',
          function: { name: 'f', description: '<|im_end|>', parameters, strict: true },
        })),
        { maxLength: 3 },
      ),
    ),
    tool_choice: maybe(fc.constantFrom('required', 'auto', { type: 'function', function: { name: 'f' } })),
    guided_regex: maybe(fc.constantFrom('(a|aa)+', '(x+x+)+y', '[ab]{1,9999}', '(')),
    guided_choice: maybe(fc.array(fc.string(), { maxLength: 300 })),
    stop: maybe(fc.oneof(value, fc.array(text, { maxLength: 20 }))),
    logit_bias: maybe(value),
    n: maybe(fc.integer({ min: -1, max: 9 })),
    stream: maybe(fc.boolean()),
    user: maybe(text),
  })
  .map((body) => post('/v1/chat/completions', { ...fewTokens, ...body }));

const messages = fc
  .record({
    messages: fc.oneof(chatMessages, value),
    system: maybe(fc.oneof(text, value)),
    tools: maybe(fc.oneof(fc.array(schema.map((input_schema) => ({ name: 'f', input_schema }))), value)),
    tool_choice: maybe(fc.oneof(fc.constant({ type: 'any' }), value)),
    output_config: maybe(schema.map((of) => ({ format: { type: 'json_schema', schema: of } }))),
    stop_sequences: maybe(value),
    stream: maybe(fc.boolean()),
  })
  .chain((body) =>
    fc
      .constantFrom('/v1/messages', '/v1/messages/count_tokens', '/messages')
      .map((path) => post(path, { ...fewTokens, ...body })),
  );

const responses = (id: fc.Arbitrary<string>) =>
  fc.oneof(
    fc
      .record({
        input: fc.oneof(text, fc.array(fc.record({ role: fc.constant('user'), content: text })), value),
        instructions: maybe(text),
        previous_response_id: maybe(id),
        text: maybe(schema.map((of) => ({ format: { type: 'json_schema', name: 'x', schema: of } }))),
        tools: maybe(value),
        store: maybe(fc.boolean()),
        stream: maybe(fc.boolean()),
      })
      .map((body) => post('/v1/responses', { model: 'clawloop', max_output_tokens: 1, ...body })),
    fc.tuple(fc.constantFrom('GET', 'DELETE'), id).map(
      ([method, of]): WireRequest => ({
        method,
        path: `/v1/responses/${encodeURIComponent(of)}`,
        headers: {},
        body: undefined,
      }),
    ),
  );

const protocol = (id: fc.Arbitrary<string>) =>
  fc.oneof(
    fc
      .record({
        task_id: fc.oneof(text, value),
        model: maybe(value),
        process: maybe(value),
        weigh: maybe(value),
      })
      .map((body) => post('/rl/start_session', body)),
    fc
      .record({
        reward: value,
        interaction_id: maybe(id),
        advantage: maybe(value),
        steps: maybe(
          fc.oneof(
            value,
            fc.array(fc.record({ interaction_id: id, advantage: maybe(value), process: maybe(value) })),
          ),
        ),
      })
      .map((body) => post('/rl/set_reward', body)),
    fc
      .record({ session_id: maybe(fc.oneof(text, id)), discard: maybe(value) })
      .map((body) => post('/rl/end_session', body)),
    fc
      .constantFrom('/rl/sessions', '/rl/steps')
      .map((path): WireRequest => ({ method: 'GET', path, headers: {}, body: undefined })),
    fc.record({ session: fc.oneof(text, id, value) }).map((body) => post('/v1/sessions/end', body)),
    fc
      .record({ completion_id: fc.oneof(id, value), rating: value, comment: maybe(text) })
      .map((body) => post('/v1/feedback', body)),
  );

const operator = (id: fc.Arbitrary<string>) =>
  fc
    .tuple(
      fc.constantFrom(...operatorPaths),
      fc.record({
        adapter: maybe(fc.oneof(fc.constant('default'), value)),
        version: maybe(fc.oneof(fc.constantFrom(0, 1, 2), value)),
        reason: maybe(text),
        turn_id: maybe(id),
        at: maybe(fc.oneof(fc.constant({ partition: 0, offset: 0 }), value)),
        last: maybe(value),
      }),
    )
    .map(([path, body]) => post(path, body));

/** Requests to all routes, each with one of the keys; `ids`: of earlier answers. */
export function requestOver(keys: Keys, ids: readonly string[]): fc.Arbitrary<WireRequest> {
  const id = fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom(...madeUpIds) },
    { weight: 1, arbitrary: fc.string({ unit: 'grapheme-ascii', maxLength: 40 }) },
    { weight: ids.length === 0 ? 0 : 4, arbitrary: fc.constantFrom('', ...ids) },
  );
  return fc
    .tuple(
      fc.oneof(
        { weight: 4, arbitrary: anyRequest },
        { weight: 4, arbitrary: chat },
        { weight: 3, arbitrary: messages },
        { weight: 3, arbitrary: responses(id) },
        { weight: 3, arbitrary: protocol(id) },
        { weight: 1, arbitrary: operator(id) },
      ),
      fc.constantFrom(...keys),
    )
    .map(([request, key]) => ({
      ...request,
      headers: { authorization: `Bearer ${key}`, ...request.headers },
    }));
}

import fc from 'fast-check';
import { requestFields } from '../../services/serving/api/request/request-fields.ts';

/** One request as it goes over the wire. */
export type WireRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
};

const json = { 'content-type': 'application/json' };
const post = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): WireRequest => ({
  method: 'POST',
  path,
  headers: { ...json, ...headers },
  body: JSON.stringify(body),
});

/** Numbers at and beyond their limits, texts of every kind, and any other JSON. */
const edge = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -0,
    1,
    -1,
    2,
    1.5,
    1e308,
    -1e308,
    5e-324,
    2 ** 53,
    2 ** 31,
    '',
    ' ',
    '0',
    'NaN',
    'null',
    'auto',
    'none',
    'text',
    '@base',
    '@v0',
    '@v1',
    'clawloop',
    '\u0000',
    '\uD800',
    '\uFEFF',
    '<|im_end|>',
    '__proto__',
    'constructor',
    [],
    {},
    [[]],
    [null],
    { type: 'text' },
    { type: 'text', text: 'hi' },
    '{{ 7 * 7 }}',
    '{% for %}',
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.double(),
  fc.integer(),
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<unknown>,
);

const role = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('system', 'developer', 'user', 'assistant', 'tool') },
  { weight: 1, arbitrary: edge },
);
const part = fc.oneof(
  fc.record({ type: fc.constant('text'), text: fc.oneof(fc.string(), edge) }),
  fc.constantFrom<unknown>(
    { type: 'image_url', image_url: { url: 'data:,' } },
    { type: 'file' },
    { type: 5 },
  ),
  edge,
);
const toolCall = fc.record(
  {
    id: fc.oneof(fc.string(), edge),
    type: fc.constant('function'),
    function: fc.oneof(
      fc.record({ name: fc.string(), arguments: fc.constantFrom('{}', '{"a":1}', '{', 'x', '"') }),
      edge,
    ),
  },
  { requiredKeys: [] },
);
const message = fc.record(
  {
    role,
    content: fc.oneof(fc.string({ unit: 'binary' }), fc.array(part, { maxLength: 3 }), edge),
    tool_calls: fc.oneof(fc.array(toolCall, { maxLength: 2 }), edge),
    tool_call_id: fc.oneof(fc.string(), edge),
    name: edge,
    reasoning_content: edge,
  },
  { requiredKeys: ['role', 'content'] },
);

/** A valid request that is short, because hundreds of them are answered. */
const sound = { model: 'clawloop', messages: [{ role: 'user', content: 'hi' }], max_tokens: 1 };

const fieldNames = [...Object.keys(requestFields), 'unknown_field', '__proto__', 'toString'];
const changed = fc
  .array(fc.tuple(fc.constantFrom(...fieldNames), edge), { minLength: 1, maxLength: 3 })
  .map((changes) => ({ ...sound, ...Object.fromEntries(changes) }));
const talk = fc
  .array(message, { maxLength: 4 })
  .map((messages) => ({ ...sound, messages: messages as unknown[] }));
const tools = fc.record({
  tools: fc.oneof(
    fc.array(
      fc.record({
        type: fc.constantFrom('function', 'x'),
        function: fc.oneof(fc.record({ name: fc.string(), parameters: edge }), edge),
      }),
      { maxLength: 2 },
    ),
    edge,
  ),
  tool_choice: fc.oneof(fc.constantFrom('auto', 'none'), edge),
});

const deep = fc
  .record({
    depth: fc.integer({ min: 1, max: 30_000 }),
    field: fc.constantFrom('messages', 'tools', 'metadata', 'stop', 'chat_template_kwargs'),
  })
  .map(({ depth, field }): WireRequest => {
    const nested = '['.repeat(depth) + ']'.repeat(depth);
    const rest = JSON.stringify(sound).slice(1);
    return {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: json,
      body: `{"${field}":${nested},${rest}`,
    };
  });

const broken = fc
  .record({ body: fc.json(), at: fc.nat(), junk: fc.string({ unit: 'binary', maxLength: 3 }) })
  .map(({ body, at, junk }): WireRequest => {
    const cut = at % (body.length + 1);
    return {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: json,
      body: body.slice(0, cut) + junk + body.slice(cut + 1),
    };
  });

const bytes = fc.uint8Array({ maxLength: 60 }).map(
  (body): WireRequest => ({
    method: 'POST',
    path: '/v1/chat/completions',
    headers: json,
    body: Buffer.from(body),
  }),
);

const headers = fc.dictionary(
  fc.constantFrom(
    'content-type',
    'x-session-id',
    'session_id',
    'x-session-affinity',
    'x-turn-type',
    'x-session-done',
    'authorization',
    'traceparent',
    'x-request-id',
    'accept',
    'host',
  ),
  fc.oneof(
    fc.constantFrom(
      'application/json',
      'text/plain',
      'multipart/form-data',
      'true',
      'main',
      'side',
      'a:1',
      ':3',
      'Bearer x',
      'evil.example',
    ),
    fc.string({ unit: fc.constantFrom(...'abc:;/=-_ 0123456789,"\\'), minLength: 1, maxLength: 30 }),
  ),
  { maxKeys: 3 },
);

const chat = fc.oneof(
  changed,
  talk,
  tools.map((more) => ({ ...sound, ...more })),
);

/** Requests of operators. */
export const operatorPaths = [
  '/v1/policy/rollback',
  '/v1/learning/pause',
  '/v1/learning/resume',
  '/v1/learning/now',
  '/v1/turns/withdraw',
  '/v1/turns/delete',
  '/v1/dead-letters/redrive',
] as const;

/** Requests to all routes. */
export const anyRequest: fc.Arbitrary<WireRequest> = fc.oneof(
  { weight: 10, arbitrary: chat.map((body) => post('/v1/chat/completions', body)) },
  { weight: 2, arbitrary: chat.map((body) => post('/chat/completions', { ...body, stream: true })) },
  {
    weight: 2,
    arbitrary: fc.tuple(chat, headers).map(([body, more]) => post('/v1/chat/completions', body, more)),
  },
  { weight: 2, arbitrary: fc.jsonValue().map((body) => post('/v1/chat/completions', body)) },
  { weight: 2, arbitrary: broken },
  { weight: 1, arbitrary: bytes },
  { weight: 1, arbitrary: deep },
  {
    weight: 2,
    arbitrary: fc
      .record({ completion_id: edge, rating: edge, reward: edge, comment: edge }, { requiredKeys: [] })
      .map((body) => post('/v1/feedback', body)),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ session: edge }, { requiredKeys: [] })
      .map((body) => post('/v1/sessions/end', body)),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.constantFrom(...operatorPaths),
        fc.record(
          { adapter: edge, version: edge, reason: edge, turn_id: edge, at: edge, last: edge },
          { requiredKeys: [] },
        ),
      )
      .map(([path, body]) => post(path, body)),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({
        method: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'),
        path: fc.oneof(
          fc.constantFrom(
            '/v1/chat/completions',
            '/v1/models',
            '/v1/models/x',
            '/v1/feedback',
            '/healthz',
            '/',
            '/v1',
            '/%',
            '/v1/models/%E0%A4%A',
          ),
          fc.webPath().map((path) => (path.startsWith('/') ? path : `/${path}`)),
        ),
      })
      .map(({ method, path }): WireRequest => ({ method, path, headers: {}, body: undefined })),
  },
);

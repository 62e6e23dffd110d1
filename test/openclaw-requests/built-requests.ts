import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { loopCommand, type OpenClawRequest, type OpenClawRequests, said } from './requests.ts';

/**
 * Requests in the shape that OpenClaw sends, in words of our own. Only the marks by which ClawLoop knows its
 * messages are OpenClaw's. The long tests make the same checks on what the real program sends.
 */
export const builtRequests = (): OpenClawRequests => ({
  'first-turn': {
    session: 'built-first',
    requests: [
      request({ at: 0, messages: [longRules, opening(said['first-turn'][0], 'built-first'), context] }),
    ],
  },
  'tool-loop': toolLoop(),
  'cut-history': cutHistory(),
  retries: retries(),
  subagent: subagent(),
  'qwen-plugin': qwenPlugin(),
});

const chores = ['water the ferns', 'air the rooms', 'count the jars', 'sweep the stairs', 'write the list'];
const houseRules = (count: number) =>
  Array.from(
    { length: count },
    (_, index) => `Rule ${index + 1}: on day ${index % 31} of a month, ${chores[index % 5]} before noon.`,
  ).join('\n');

const stablePart = (count: number) =>
  `<!-- openclaw:attempt:STABLE -->\nYou keep house for one person.\n${houseRules(count)}\n<!-- /openclaw:attempt:STABLE -->`;
const dynamicPart = (more: string) =>
  `<!-- openclaw:attempt:DYNAMIC -->\nThe model is tier/m.${more}\n<!-- /openclaw:attempt:DYNAMIC -->`;
const systemText = (count: number, more = '') => `${stablePart(count)}\n${dynamicPart(more)}`;
const rules: ChatMessage = { role: 'system', content: systemText(20) };
/** About as long as OpenClaw's own prompt in its first run. */
const longRules: ChatMessage = { role: 'system', content: systemText(600) };

const date = '[Sat 2026-11-21 00:25 UTC] ';
const runtime = (key: string, id: string) =>
  `Runtime: agent=main | session=agent:main:${key} | sessionId=${id} | host=house | os=Linux (x64) | model=tier/m | shell=bash`;

const user = (content: string): ChatMessage => ({ role: 'user', content });
const assistant = (content: string): ChatMessage => ({ role: 'assistant', content });
const later = (words: string) => user(`${date}${words}`);
/** The first message of a history ends with the line that names the session. */
const opening = (words: string, id: string, key = `explicit:${id}`) =>
  user(`${date}${words}\n\n${runtime(key, id)}`);
const internal = (text: string): ChatMessage => ({
  role: 'user',
  content: [
    {
      type: 'text',
      text: `<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\n${text}\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>`,
    },
  ],
});
/** Ends every request and never becomes part of the history. */
const context = internal('Commands that run: none. Helpers that work: none.');

const call = (n: number, name: string, given: object): ChatMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id: `call${n}`, type: 'function', function: { name, arguments: JSON.stringify(given) } }],
});
const result = (n: number, content: string): ChatMessage => ({
  role: 'tool',
  content,
  tool_call_id: `call${n}`,
});
const ran = (n: number): readonly ChatMessage[] => [
  call(n, 'exec', { command: loopCommand.command }),
  result(n, loopCommand.output),
];

const toolNames = [
  'apply_patch',
  'edit',
  'exec',
  'ls',
  'openclaw',
  'process',
  'read',
  'sessions_yield',
  'tool_call',
  'tool_describe',
  'tool_search',
  'write',
];
const tools: readonly object[] = toolNames.map((name) => ({
  type: 'function',
  function: {
    name,
    description: `Does the work of ${name} in the house.`,
    parameters: { type: 'object', required: ['input'], properties: { input: { type: 'string' } } },
  },
}));

type Given = {
  /** seconds after the first request */
  readonly at: number;
  readonly messages: readonly ChatMessage[];
  readonly outcome?: OpenClawRequest['outcome'];
  /** requests of one attempt share it */
  readonly trace?: number;
  readonly fields?: Readonly<Record<string, unknown>>;
};

const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0');

function request({ at, messages, outcome = 'answered', trace = at, fields = {} }: Given): OpenClawRequest {
  return {
    time: new Date(Date.UTC(2026, 10, 21, 0, 25, at)).toISOString(),
    outcome,
    headers: {
      accept: 'application/json',
      authorization: 'Bearer key',
      'content-type': 'application/json',
      traceparent: `00-${hex(trace + 1, 32)}-${hex(at + 1, 16)}-01`,
      'user-agent': 'OpenAI/JS 7.15.0',
      'x-stainless-retry-count': '0',
    },
    body: {
      model: 'm',
      messages,
      stream: true,
      stream_options: { include_usage: true },
      tools,
      tool_choice: 'auto',
      max_completion_tokens: 8192,
      ...fields,
    },
  };
}

function toolLoop(): OpenClawRequests['tool-loop'] {
  const session = 'built-loop';
  const [first, second] = said['tool-loop'];
  const asked = [rules, opening(first, session), assistant('Which command?'), later(second)];
  const histories = [asked, [...asked, ...ran(1)], [...asked, ...ran(1), ...ran(2)]];
  return {
    session,
    requests: histories.map((messages, index) =>
      request({ at: 10 + index, trace: 10, messages: [...messages, context] }),
    ),
  };
}

/** Rounds of the loop that outgrows the context. */
const ROUNDS = 4;

function cutHistory(): OpenClawRequests['cut-history'] {
  const session = 'built-cut';
  const [first, ...rest] = said['cut-history'];
  const loop = Array.from({ length: ROUNDS }, (_, round) =>
    request({
      at: 20 + round,
      trace: 20,
      messages: [
        rules,
        opening(first, session),
        ...Array.from({ length: round }, (_, n) => ran(100 + n)).flat(),
        context,
      ],
      // what the client believes to be left of the context
      fields: { max_completion_tokens: round === ROUNDS - 1 ? 1 : 4096 },
    }),
  );
  const cut = [
    rules,
    opening('(session bootstrap)', session),
    ...ran(100 + ROUNDS - 2),
    call(100 + ROUNDS - 1, 'exec', { command: loopCommand.command }),
    result(100 + ROUNDS - 1, '[openclaw] missing tool result: this text stands in its place.'),
  ];
  const answers: readonly ChatMessage[] = [
    { role: 'assistant', content: 'It is teal.', reasoning_content: 'The person named a colour before.' },
    assistant('The part that can be seen.'),
  ];
  const turns = rest.map((_, turn) =>
    request({
      at: 30 + turn,
      messages: [
        ...cut,
        ...rest
          .slice(0, turn + 1)
          .flatMap((words, n) => [later(words), answers[n]!].slice(0, n < turn ? 2 : 1)),
        context,
      ],
    }),
  );
  return { session, requests: [...loop, ...turns] };
}

function retries(): OpenClawRequests['retries'] {
  const session = 'built-retries';
  const [words] = said.retries;
  const again =
    `[Queued user message from a previous active turn; it is here for its words alone.]\n${words}\n\n` +
    'Continue the current task from the existing transcript, and look before you act twice.';
  return {
    session,
    requests: Array.from({ length: 8 }, (_, attempt) =>
      request({
        at: 40 + attempt,
        outcome: 'dropped',
        messages: [rules, opening(attempt === 0 ? words : again, session), context],
      }),
    ),
  };
}

function subagent(): OpenClawRequests['subagent'] {
  const [session, childSession] = ['built-parent', 'built-child'];
  const parent = [rules, opening(said.subagent[0], session, 'house-chat')];
  const spawned = [
    ...parent,
    call(50, 'tool_call', { id: 'sessions_spawn', args: { task: 'Count to three.' } }),
    result(50, '{"status": "accepted"}'),
  ];
  const child = [
    { role: 'system', content: systemText(20, '\nYou help another agent.') } as const,
    opening('[Subagent Context] You work for another agent.\n\nCount to three.', childSession, 'subagent:1'),
  ];
  const news = later('A background task completed. Tell the person about it.\n\nOne, two, three.');
  const histories = [
    [...parent, context],
    [...spawned, context],
    [...child, context],
    [...spawned, assistant('A helper counts.'), news, internal('A background task completed.')],
  ];
  return {
    session,
    childSession,
    requests: histories.map((messages, index) => request({ at: 50 + index, trace: 50, messages })),
  };
}

function qwenPlugin(): OpenClawRequests['qwen-plugin'] {
  const session = 'built-qwen';
  const line = dynamicPart(`\n${runtime(`explicit:${session}`, session)}`);
  const cached = (text: string) => ({ type: 'text', text, cache_control: { type: 'ephemeral' } });
  const messages: readonly ChatMessage[] = [
    { role: 'system', content: [cached(stablePart(20)), { type: 'text', text: line }] },
    { role: 'user', content: [cached(`${date}${said['qwen-plugin'][0]}`)] },
    context,
  ];
  const marked = tools.map((tool, index) =>
    index === tools.length - 1 ? { ...tool, cache_control: { type: 'ephemeral' } } : tool,
  );
  return {
    session,
    requests: [request({ at: 60, messages, fields: { tools: marked, enable_thinking: true } })],
  };
}

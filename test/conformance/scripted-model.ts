import { sendFrames, type UpstreamDouble, usageFrame } from '../e2e/serving-upstream-double.ts';

export type AskedMessage = {
  readonly role: string;
  readonly content?: unknown;
};
/** What the model answers: words, calls, or both. */
export type Reply = {
  readonly text?: string;
  readonly calls?: readonly (readonly [name: string, args: object])[];
};
/** A model whose answer follows from the chat alone. */
export type Brain = (messages: readonly AskedMessage[]) => Reply;

/** Settings of a serving whose upstream is a scripted model: its answers can train. */
export const scriptedEngine = ({ url }: UpstreamDouble): readonly string[] => [
  ...['--engine', 'upstream', '--upstream-url', url],
  ...['--upstream-logprobs', 'raw', '--upstream-token-ids', 'true'],
];

/** The text of a message's content, whether it came as a text or as parts. */
export const textOf = ({ content }: AskedMessage): string =>
  typeof content === 'string'
    ? content
    : Array.isArray(content)
      ? content.map((part: { readonly text?: string }) => part.text ?? '').join('')
      : '';

/** What came after the last answer: words of a person, or the results of the calls. */
export const latest = (messages: readonly AskedMessage[]): readonly AskedMessage[] =>
  messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);

/** How a request fails; `retry-after` in seconds. */
export type Failure = { readonly status: number; readonly retryAfter?: number };

let answers = 0;

/**
 * Answers every request from now on as `brain` says, after `failures` of the first ones: a frame per word or
 * piece of arguments, each with a token id and its log-prob, as vLLM sends them. A prompt counts 10 tokens
 * per message.
 */
export function think(upstream: UpstreamDouble, brain: Brain, failures: readonly Failure[] = []): void {
  const failing = [...failures];
  upstream.script(({ body }, response) => {
    const failure = failing.shift();
    if (failure !== undefined) {
      const { status, retryAfter } = failure;
      const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
      response.writeHead(status, headers).end('{}');
      return;
    }
    const messages = body.messages as readonly AskedMessage[];
    const { text = '', calls = [] } = brain(messages);
    answers += 1;
    const deltas: object[] = [
      ...(text.match(/\S+\s*/g) ?? []).map((content) => ({ content })),
      ...calls.flatMap(([name, args], index) => callDeltas(`call_${answers}_${index}`, name, args, index)),
    ];
    const prompt = messages.length * 10;
    const promptIds = Array.from({ length: prompt }, (_, at) => at + 1);
    const last = { finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' };
    sendFrames(response, [
      { choices: [], prompt_token_ids: promptIds },
      ...deltas.map((delta, at) => ({ choices: [{ index: 0, delta, ...token(at) }] })),
      { choices: [{ index: 0, delta: {}, ...token(deltas.length), ...last }] },
      usageFrame(prompt, deltas.length + 1),
    ]);
  });
}

function callDeltas(id: string, name: string, args: object, index: number): readonly object[] {
  const text = JSON.stringify(args);
  const half = Math.ceil(text.length / 2);
  return [
    { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] },
    ...[text.slice(0, half), text.slice(half)].map((part) => ({
      tool_calls: [{ index, function: { arguments: part } }],
    })),
  ];
}

const token = (at: number) => ({
  token_ids: [100 + at],
  logprobs: { content: [{ token: `t${at}`, logprob: -0.25, top_logprobs: [] }] },
});

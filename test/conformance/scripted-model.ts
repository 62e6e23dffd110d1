import { sendFrames, type UpstreamDouble, usageFrame } from '../e2e/serving-upstream-double.ts';

export type AskedMessage = {
  readonly role: string;
  readonly content?: unknown;
};
/** An answer of the model: text, calls, or both; or a failure. */
export type Reply = {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly (readonly [name: string, args: object])[];
  /** The answer starts only after this. */
  readonly after?: Promise<void>;
  /** The answer stops here, but never ends. */
  readonly hangs?: true;
  /** The connection ends here. */
  readonly breaks?: true;
  /** Instead of an answer; `retryAfter` in seconds. */
  readonly fails?: { readonly status: number; readonly retryAfter?: number };
};
/** A model whose answer depends only on the chat. */
export type Brain = (messages: readonly AskedMessage[]) => Reply;

/** The text of a message's content, which is a text or a list of parts. */
export const textOf = ({ content }: AskedMessage): string =>
  typeof content === 'string'
    ? content
    : Array.isArray(content)
      ? content.map((part: { readonly text?: string }) => part.text ?? '').join('')
      : '';

/** The messages after the last answer: words of a person, or results of the calls. */
export const latest = (messages: readonly AskedMessage[]): readonly AskedMessage[] =>
  messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);

/** Fails the first requests, and answers the later ones. */
export function failingFirst(brain: Brain, ...failures: readonly NonNullable<Reply['fails']>[]): Brain {
  const left = [...failures];
  return (messages) => {
    const fails = left.shift();
    return fails === undefined ? brain(messages) : { fails };
  };
}

let answers = 0;

/**
 * Answers every request from now on with `brain`: one frame per word or piece of arguments, each with a token id and
 * its log-prob, as vLLM sends them. A prompt counts 10 tokens per message.
 */
export function think(upstream: UpstreamDouble, brain: Brain): void {
  upstream.script(async ({ body }, response) => {
    const messages = body.messages as readonly AskedMessage[];
    const { text = '', reasoning, calls = [], after, hangs, breaks, fails } = brain(messages);
    await after;
    if (fails !== undefined) {
      const { status, retryAfter } = fails;
      const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
      response.writeHead(status, headers).end('{}');
      return;
    }
    answers += 1;
    const deltas: object[] = [
      ...(reasoning === undefined ? [] : [{ reasoning_content: reasoning }]),
      ...(text.match(/\S+\s*/g) ?? []).map((content) => ({ content })),
      ...calls.flatMap(([name, args], index) => callDeltas(`call_${answers}_${index}`, name, args, index)),
    ];
    const prompt = messages.length * 10;
    const promptIds = Array.from({ length: prompt }, (_, at) => at + 1);
    const last = { finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' };
    const said = [
      { choices: [], prompt_token_ids: promptIds },
      ...deltas.map((delta, at) => ({ choices: [{ index: 0, delta, ...token(at) }] })),
    ];
    if (hangs) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const frame of said) response.write(`data: ${JSON.stringify(frame)}\n\n`);
    } else if (breaks) sendFrames(response, said, false);
    else
      sendFrames(response, [
        ...said,
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

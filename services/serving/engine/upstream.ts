import { createParser } from 'eventsource-parser';
import { Agent, type Dispatcher, request as httpRequest } from 'undici';
import { ServingError } from '../errors.ts';
import type { Engine, GenerationRequest } from './engine.ts';
import { collectUpstream, type UpstreamLogProbs } from './upstream-answer.ts';
import { UpstreamChunk } from './upstream-chunk.ts';

export type UpstreamSetup = {
  /** with its /v1 */
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly model: string | undefined;
  readonly logProbs: UpstreamLogProbs;
  /** ask for `return_token_ids`, vLLM's extension */
  readonly tokenIds: boolean;
  /** ms without a byte */
  readonly timeoutMs: number;
};

/**
 * A server that speaks OpenAI's chat API generates. It serves one policy, which counts as version 0: no
 * adapter is moved there. Without token ids from it, answers are served and recorded, and do not train.
 */
export async function openUpstreamEngine(setup: UpstreamSetup): Promise<Engine> {
  const agent = new Agent({ headersTimeout: setup.timeoutMs, bodyTimeout: setup.timeoutMs });
  const address = `${setup.url.replace(/\/+$/, '')}/chat/completions`;
  let running = 0;

  const generate: Engine['generate'] = async (request, listener, signal) => {
    const answers = collectUpstream(request, setup.logProbs);
    const choices = (aborted: boolean) =>
      answers.map(({ result }, index) => ({ index, generated: result(aborted) }));
    let started = false;
    try {
      const response = await httpRequest(address, {
        method: 'POST',
        dispatcher: agent,
        signal,
        headers: {
          'content-type': 'application/json',
          accept: 'text/event-stream',
          ...(setup.apiKey === undefined ? {} : { authorization: `Bearer ${setup.apiKey}` }),
        },
        body: JSON.stringify(upstreamBody(setup, request)),
      });
      if (response.statusCode !== 200) throw await refusalOf(response);
      listener.onStart({ version: 0 });
      started = true;
      for await (const frame of framesOf(response)) {
        if (frame.error != null)
          throw ServingError.UPSTREAM_FAILED({ detail: frame.error.message ?? 'it says no more' });
        for (const [index, answer] of answers.entries()) {
          const chunk = answer.add(frame);
          if (chunk !== undefined) listener.onChunk(chunk, index);
        }
      }
      if (!answers.every((answer) => answer.hasFinished()))
        throw ServingError.UPSTREAM_FAILED({ detail: 'its stream ended without finish_reason' });
      for (const [index, answer] of answers.entries()) {
        const rest = answer.rest();
        if (rest !== undefined) listener.onChunk(rest, index);
      }
      return choices(false);
    } catch (error) {
      if (signal.aborted && started) return choices(true);
      if (signal.aborted) throw signal.reason;
      throw asUpstreamFailure(error);
    }
  };

  return {
    name: 'upstream',
    report: `upstream engine at ${setup.url}`,
    hasVersions: false,
    generate: async (...call) => {
      running += 1;
      try {
        return await generate(...call);
      } finally {
        running -= 1;
      }
    },
    serve: async () => {},
    counters: async () => ({ ...nothingCounted, running }),
    failed: new Promise<never>(() => {}),
    close: () => agent.close(),
  };
}

const nothingCounted = {
  tensors: 0,
  waiting: 0,
  versions: [0],
  steps: 0,
  stepSequences: 0,
  promptTokens: 0,
  cachedTokens: 0,
  preemptions: 0,
  cachePositions: 0,
  prefixBlocks: 0,
} as const;

function upstreamBody(
  setup: UpstreamSetup,
  { messages, tools, templateVariables, sampling, ...asked }: GenerationRequest,
) {
  const wantsLogProbs = setup.logProbs !== 'none' || asked.topLogProbs !== undefined;
  const filled: Readonly<Record<string, unknown>> = {
    temperature: sampling.temperature,
    top_p: sampling.topP,
    top_k: sampling.topK,
    min_p: sampling.minP,
    seed: sampling.seed,
    max_tokens: sampling.maxTokens,
    n: asked.choices === 1 ? undefined : asked.choices,
    stop: sampling.stop.length === 0 ? undefined : sampling.stop,
    stop_token_ids: sampling.stopTokenIds,
    frequency_penalty: sampling.frequencyPenalty || undefined,
    presence_penalty: sampling.presencePenalty || undefined,
    repetition_penalty: sampling.repetitionPenalty === 1 ? undefined : sampling.repetitionPenalty,
    logit_bias: sampling.logitBias.length === 0 ? undefined : Object.fromEntries(sampling.logitBias),
    tools: tools.length === 0 ? undefined : tools,
    tool_choice: asked.forcedCall && toolChoiceOf(asked.forcedCall),
    parallel_tool_calls: asked.singleCall && false,
    chat_template_kwargs: Object.keys(templateVariables).length === 0 ? undefined : templateVariables,
    logprobs: wantsLogProbs || undefined,
    top_logprobs: asked.topLogProbs || undefined,
    return_token_ids: setup.tokenIds || undefined,
  };
  return {
    model: setup.model ?? 'default',
    messages,
    stream: true,
    stream_options: { include_usage: true },
    ...filled, // JSON leaves out what is undefined
  };
}

/** Whoever may call one tool alone has to call that one. */
const toolChoiceOf = ([name, ...others]: NonNullable<GenerationRequest['forcedCall']>) =>
  others.length === 0 ? { type: 'function', function: { name } } : 'required';

/** The stream's frames up to `[DONE]`. Throws when one is no chunk. */
async function* framesOf({ body }: Dispatcher.ResponseData): AsyncGenerator<UpstreamChunk> {
  const arrived: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => void arrived.push(data) });
  const decoder = new TextDecoder();
  for await (const bytes of body) {
    parser.feed(decoder.decode(bytes as Uint8Array, { stream: true }));
    for (const data of arrived.splice(0)) {
      if (data === '[DONE]') return;
      yield UpstreamChunk.parse(JSON.parse(data));
    }
  }
}

/**
 * A client's fault stays one, a limit stays a limit; all else is ours. Never 401: clients lock their key
 * out.
 */
async function refusalOf({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<Error> {
  const detail = messageOf(await body.text());
  if (statusCode === 429) {
    const seconds = Number(headers['retry-after']);
    return ServingError.UPSTREAM_RATE_LIMITED({ detail, retryAfterSeconds: seconds > 0 ? seconds : 5 });
  }
  if (statusCode === 400 || statusCode === 413 || statusCode === 422)
    return ServingError.UPSTREAM_REFUSED({ detail });
  return ServingError.UPSTREAM_FAILED({ detail: `status ${statusCode}: ${detail}` });
}

function messageOf(text: string): string {
  try {
    const { error, message } = JSON.parse(text) as { error?: { message?: unknown }; message?: unknown };
    return String(error?.message ?? message ?? text).slice(0, 500);
  } catch {
    return text.slice(0, 500);
  }
}

function asUpstreamFailure(error: unknown): unknown {
  const ours = (error as { code?: string; status?: number }).status !== undefined;
  return ours ? error : ServingError.UPSTREAM_FAILED({ detail: (error as Error).message });
}

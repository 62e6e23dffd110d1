import { z } from 'zod';
import { pause } from '../../shared/lang/async.ts';
import { originOf } from '../api-client.ts';
import type { FunctionTool, OpeningMessage } from './environment.ts';

const ToolCall = z.object({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
});
export type ToolCall = z.output<typeof ToolCall>;

const AssistantMessage = z.object({
  role: z.literal('assistant'),
  content: z.string().nullish(),
  tool_calls: z.array(ToolCall).optional(),
});
export type AssistantMessage = z.output<typeof AssistantMessage>;

export type Message =
  | OpeningMessage
  | AssistantMessage
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string };

const Completion = z.looseObject({
  choices: z.tuple([z.looseObject({ message: AssistantMessage, finish_reason: z.string() })]),
  usage: z.looseObject({ prompt_tokens: z.int() }).nullish(),
});
const Refusal = z.looseObject({
  error: z.looseObject({ message: z.string(), code: z.string().nullish() }),
});

type ChatRequest = {
  readonly model: string;
  readonly messages: readonly Message[];
  readonly tools: readonly FunctionTool[];
  readonly seed: number;
};

type Endpoint = { readonly baseUrl: string; readonly apiKey: string };

type Completed = {
  readonly message: AssistantMessage;
  readonly isCut: boolean;
  /** undefined: the server does not say */
  readonly promptTokens: number | undefined;
};

/** s to wait when a busy server does not say how long */
const DEFAULT_WAIT = 1;

/**
 * The next answer of a conversation, sampled at temperature 1 without filters, so that it can train.
 * Waits while the server is busy: a refused request leaves no turn behind.
 *
 * @throws Error for any other refusal
 */
export async function complete(
  { baseUrl, apiKey }: Endpoint,
  { tools, ...rest }: ChatRequest,
  signal: AbortSignal,
): Promise<Completed | 'context-full'> {
  const body = JSON.stringify({ ...rest, temperature: 1, ...(tools.length > 0 ? { tools } : {}) });
  for (;;) {
    const response = await fetch(`${originOf(baseUrl)}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      body,
      signal,
    });
    const answer: unknown = await response.json().catch(() => undefined);
    if (response.ok) {
      const { choices, usage } = Completion.parse(answer);
      const [{ message, finish_reason: reason }] = choices;
      return { message, isCut: reason === 'length', promptTokens: usage?.prompt_tokens };
    }
    const refusal = Refusal.safeParse(answer).data?.error;
    if (refusal?.code === 'context_length_exceeded') return 'context-full';
    if (response.status !== 429 && response.status !== 503)
      throw new Error(`the model refused (${response.status}): ${refusal?.message ?? 'no reason given'}`);
    const seconds = Number(response.headers.get('retry-after') ?? DEFAULT_WAIT);
    await pause((Number.isFinite(seconds) ? seconds : DEFAULT_WAIT) * 1000, signal);
    signal.throwIfAborted();
  }
}

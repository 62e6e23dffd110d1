import { Agent, fetch, type Response } from 'undici';
import { z } from 'zod';
import { defined } from '../../../../shared/lang/defined.ts';
import { parseJson } from '../../../../shared/lang/json.ts';
import { JudgeError } from '../../errors.ts';
import type { JudgeMessage } from './prompt.ts';
import type { Completion } from './prompted-judge.ts';

export type ChatServer = {
  /** the URL before `/chat/completions`, for example http://127.0.0.1:8700/v1 */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly model: string;
  readonly temperature: number;
  readonly maxTokens: number;
};

/** Maximum size of an answer. Bytes. */
const BODY_LIMIT = 4 * 1024 * 1024;

/** The signal has the time limit; the default limits of undici end any answer after 300 s. */
const patient = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

const completionSchema = z.object({
  model: z.string().optional(),
  choices: z.array(z.object({ message: z.object({ content: z.string().nullish() }) })).min(1),
  usage: z.object({ prompt_tokens: z.int(), completion_tokens: z.int() }).partial().nullish(),
});

/**
 * Asks any OpenAI-compatible server for one answer.
 * @throws JUDGE_UNREACHABLE, JUDGE_REFUSED, JUDGE_GARBAGE, or the signal's reason
 */
export async function completeChat(
  server: ChatServer,
  messages: readonly JudgeMessage[],
  seed: number,
  signal: AbortSignal,
): Promise<Completion> {
  const response = await post(server, messages, seed, signal);
  if (!response.ok) {
    await response.body?.cancel();
    throw JudgeError.JUDGE_REFUSED({ httpStatus: response.status });
  }
  const body = await readBody(response, signal);
  const parsed = completionSchema.safeParse(parseJson(body));
  if (!parsed.success) throw JudgeError.JUDGE_GARBAGE({ reason: `${body.length} characters` });
  const { model, choices, usage } = parsed.data;
  return {
    text: choices[0]!.message.content ?? '',
    model,
    promptTokens: usage?.prompt_tokens ?? 0,
    completionTokens: usage?.completion_tokens ?? 0,
  };
}

async function post(
  { baseUrl, apiKey, model, temperature, maxTokens }: ChatServer,
  messages: readonly JudgeMessage[],
  seed: number,
  signal: AbortSignal,
): Promise<Response> {
  try {
    return await fetch(`${baseUrl.replace(/\/+$/, '')}/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...defined({ authorization: apiKey === undefined ? undefined : `Bearer ${apiKey}` }),
      },
      body: JSON.stringify({ model, messages, temperature, max_tokens: maxTokens, seed, stream: false }),
      signal,
      // the key must not go to any other server
      redirect: 'error',
      dispatcher: patient,
    });
  } catch (error) {
    signal.throwIfAborted();
    throw JudgeError.JUDGE_UNREACHABLE({ reason: reasonOf(error) });
  }
}

async function readBody(response: Response, signal: AbortSignal): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  try {
    for await (const chunk of response.body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > BODY_LIMIT) break;
      text += decoder.decode(chunk, { stream: true });
    }
  } catch (error) {
    signal.throwIfAborted();
    throw JudgeError.JUDGE_UNREACHABLE({ reason: reasonOf(error) });
  }
  if (bytes > BODY_LIMIT) throw JudgeError.JUDGE_GARBAGE({ reason: `more than ${BODY_LIMIT} bytes` });
  return text + decoder.decode();
}

/** fetch wraps the original error, which has the code, as its cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (typeof cause === 'object' && cause !== null && 'code' in cause) return String(cause.code);
  return cause instanceof Error ? cause.message : String(cause);
}

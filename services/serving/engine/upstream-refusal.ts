import type { ServiceError } from '../../../shared/service/errors.ts';
import { ServingError } from '../errors.ts';

/** An answer of the upstream server that is none. */
export type UpstreamRefusal = {
  readonly status: number;
  readonly text: string;
  readonly retryAfterSeconds: number | undefined;
};

/** s until a client should come again where the server does not say: at its limit, or not there just now */
const LIMITED_SECONDS = 5;
const UNAVAILABLE_SECONDS = 1;

/**
 * A client's fault stays one, a limit stays a limit; all else is ours. Never 401: clients lock their key
 * out.
 */
export function refusalError(refusal: UpstreamRefusal): ServiceError {
  const { status, retryAfterSeconds: told } = refusal;
  const detail = messageOf(refusal.text);
  if (status === 429)
    return ServingError.UPSTREAM_RATE_LIMITED({ detail, retryAfterSeconds: told ?? LIMITED_SECONDS });
  if (status === 503)
    return ServingError.UPSTREAM_UNAVAILABLE({ detail, retryAfterSeconds: told ?? UNAVAILABLE_SECONDS });
  if (status === 400 || status === 413 || status === 422) {
    const context = contextFault(detail);
    return context === undefined
      ? ServingError.UPSTREAM_REFUSED({ detail })
      : ServingError.CONTEXT_LENGTH_EXCEEDED({ param: 'messages', ...context });
  }
  return ServingError.UPSTREAM_FAILED({ detail: `status ${status}: ${detail}` });
}

/**
 * What SGLang says of an adapter: the second since it loads what it evicted by itself, the third where it
 * cannot.
 */
const unknownAdapter = /not loaded|never been loaded|failed to implicitly load/i;

/**
 * Whether it does not know this adapter (any more): vLLM answers 404 for a model that it does not have, SGLang
 * 400 with the name.
 */
export const hasLostModel = ({ status, text }: UpstreamRefusal, model: string): boolean =>
  text.includes(model) && (status === 404 || (status === 400 && unknownAdapter.test(text)));

/**
 * An error that came as an event of the stream, before anything else: vLLM and SGLang find some faults after
 * the status went out. `otherwise`: its status where it names none.
 */
export function errorFrame(data: string, otherwise: number): UpstreamRefusal | undefined {
  if (!data.includes('"error"')) return undefined;
  const { error } = objectOf(data) as { readonly error?: unknown };
  if (error == null) return undefined;
  const code = Number((error as { readonly code?: unknown }).code); // LiteLLM writes it as a text
  const status = code >= 400 && code < 600 ? code : otherwise;
  return { status, text: data, retryAfterSeconds: undefined };
}

/** What is no object, or no JSON, has no members. */
function objectOf(data: string): object {
  try {
    return Object(JSON.parse(data));
  } catch {
    return {};
  }
}

/** OpenAI's servers put the message under `error`, others beside it; SGLang's control calls say `error_message`. */
export function messageOf(text: string): string {
  try {
    const { error, message, error_message, detail } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const inner = (error as { readonly message?: unknown } | null | undefined)?.message;
    const said = inner ?? message ?? error_message ?? detail ?? error;
    return (typeof said === 'string' ? said : text).slice(0, 500);
  } catch {
    return text.slice(0, 500);
  }
}

/**
 * vLLM: "maximum context length is 4096 tokens ... has 5000 input tokens" (older: "you requested 5000
 * tokens"); SGLang: "The input (5000 tokens) is longer than the model's context length (4096 tokens)", and of one
 * that leaves less than 6 "Input length (4095 tokens) exceeds the maximum allowed length (4090 tokens)". Agents know
 * OpenAI's code for it and compact.
 */
function contextFault(
  detail: string,
): { readonly limit: number | string; readonly tokens: number | string } | undefined {
  if (!/context length|longer than the model|maximum allowed length/i.test(detail)) return undefined;
  const limit = /(?:context|allowed) length (?:is |of |\()?(\d+)/i.exec(detail)?.[1];
  const tokens = /(?:\bhas|requested|input (?:length )?\(|total of)\D{0,20}?(\d+)/i.exec(detail)?.[1];
  if (limit === undefined && tokens === undefined) return undefined;
  return { limit: limit ?? 'fewer', tokens: tokens ?? 'more' };
}

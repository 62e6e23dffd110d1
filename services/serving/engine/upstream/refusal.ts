import { parseJson } from '../../../../shared/lang/json.ts';
import type { ServiceError } from '../../../../shared/runtime/errors.ts';
import { ServingError } from '../../errors.ts';

/** An error response of the upstream server. */
export type UpstreamRefusal = {
  readonly status: number;
  readonly text: string;
  readonly retryAfterSeconds: number | undefined;
};

/** Default Retry-After in s, for a rate limit and for an outage */
const LIMITED_SECONDS = 5;
const UNAVAILABLE_SECONDS = 1;

/**
 * Passes on client errors and limits; everything else is an upstream failure. Never 401, since clients would
 * stop using their key.
 */
export function refusalError(refusal: UpstreamRefusal): ServiceError {
  const { status, retryAfterSeconds: requested } = refusal;
  const detail = messageOf(refusal.text);
  if (status === 429)
    return ServingError.UPSTREAM_RATE_LIMITED({ detail, retryAfterSeconds: requested ?? LIMITED_SECONDS });
  if (status === 503)
    return ServingError.UPSTREAM_UNAVAILABLE({ detail, retryAfterSeconds: requested ?? UNAVAILABLE_SECONDS });
  if (status === 400 || status === 413 || status === 422) {
    const context = contextFault(detail);
    return context === undefined
      ? ServingError.UPSTREAM_REFUSED({ detail })
      : ServingError.CONTEXT_LENGTH_EXCEEDED({ param: 'messages', ...context });
  }
  return ServingError.UPSTREAM_FAILED({ detail: `status ${status}: ${detail}` });
}

/**
 * SGLang's messages for an unknown adapter: unloaded, never loaded, or evicted and not loadable again.
 */
const unknownAdapter = /not loaded|never been loaded|failed to implicitly load/i;

/**
 * Whether the server does not know this adapter: vLLM returns 404 for an unknown model, SGLang 400 with the
 * name.
 */
export const hasLostModel = ({ status, text }: UpstreamRefusal, model: string): boolean =>
  text.includes(model) && (status === 404 || (status === 400 && unknownAdapter.test(text)));

/**
 * An error that arrives as the first event of the stream: vLLM and SGLang find some faults after they have sent
 * the status.
 * @param otherwise the status if the error has none
 */
export function errorFrame(data: string, otherwise: number): UpstreamRefusal | undefined {
  if (!data.includes('"error"')) return undefined;
  const { error } = objectOf(data) as { readonly error?: unknown };
  if (error == null) return undefined;
  const code = Number((error as { readonly code?: unknown }).code); // LiteLLM sends a string
  const status = code >= 400 && code < 600 ? code : otherwise;
  return { status, text: data, retryAfterSeconds: undefined };
}

/** An empty object if the data is not a JSON object. */
const objectOf = (data: string): object => Object(parseJson(data));

/** The message: under `error` as with OpenAI, at the top level, or in SGLang's `error_message`. */
export function messageOf(text: string): string {
  try {
    const { error, message, error_message, detail } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const inner = (error as { readonly message?: unknown } | null | undefined)?.message;
    const chosen = inner ?? message ?? error_message ?? detail ?? error;
    return (typeof chosen === 'string' ? chosen : text).slice(0, 500);
  } catch {
    return text.slice(0, 500);
  }
}

/**
 * vLLM: "maximum context length is 4096 tokens ... has 5000 input tokens" (older: "you requested 5000
 * tokens"); SGLang: "The input (5000 tokens) is longer than the model's context length (4096 tokens)" or, if
 * fewer than 6 tokens remain, "Input length (4095 tokens) exceeds the maximum allowed length (4090 tokens)". Agents know
 * OpenAI's code for it and compact their context.
 */
function contextFault(
  detail: string,
): { readonly limit: number | string; readonly tokens: number | string } | undefined {
  if (!/context length|longer than the model|maximum allowed length/i.test(detail)) return undefined;
  const limit = /(?:context|allowed) length (?:is |of |\()?(\d+)/i.exec(detail)?.[1];
  const tokens = /(?:\bhas|requested|input (?:length )?\(|total of)\D{0,20}?(\d+)/i.exec(detail)?.[1];
  if (limit === undefined && tokens === undefined) return undefined;
  return { limit: limit ?? 'an unknown number of', tokens: tokens ?? 'an unknown number of' };
}

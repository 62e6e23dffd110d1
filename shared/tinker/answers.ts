import { z } from 'zod';
import { parseJson } from '../lang/json.ts';

// What servers answer, as far as this client reads it. Members that it does not read are left out.

const tensor = z.object({
  // a server writes null for a value that is not finite
  data: z.array(z.number().nullable()),
});

export const LogProbsAnswer = z.object({
  loss_fn_outputs: z.array(z.object({ logprobs: tensor.optional() })),
});

export const FutureAnswer = z.object({
  request_id: z.union([z.string().min(1), z.int()]).transform(String),
  model_id: z.string().optional(),
});

/** An answer to a poll that is not the result. */
export const TryAgain = z.object({ type: z.literal('try_again'), queue_state: z.string().optional() });
export const FailedFuture = z.object({
  error: z.string(),
  category: z.enum(['user', 'server', 'unknown']).optional().catch('unknown'),
});

export const SessionAnswer = z.object({
  session_id: z.string().min(1),
  error_message: z.string().nullish(),
});

export const ModelAnswer = z.object({ model_id: z.string().min(1) });

export const OptimizerAnswer = z.object({
  metrics: z.record(z.string(), z.union([z.number(), z.string()]).nullable()).default({}),
});

export const PathAnswer = z.object({ path: z.string().min(1) });

export const AnyAnswer = z.looseObject({});

export const SamplerAnswer = z.object({ sampling_session_id: z.string().min(1) });

export const TopTokensAnswer = z.object({
  topk_prompt_logprobs: z.array(z.array(z.tuple([z.int(), z.number()])).nullable()),
});

export const CapabilitiesAnswer = z.object({
  supported_models: z.array(
    z.object({
      model_name: z.string().nullish(),
      max_context_length: z.int().nullish(),
      trainable: z.boolean().nullish(),
    }),
  ),
});

export const ConfigAnswer = z.object({ pjwt_auth_enabled: z.boolean().optional() });
export const TokenAnswer = z.object({ jwt: z.string().min(1) });
export const TokenClaims = z.object({ exp: z.number() });

export const UrlsAnswer = z.object({ urls: z.record(z.string(), z.url()) });

/** Fireworks' control plane. */
export const SignedUrlsAnswer = z.object({ filenameToSignedUrls: z.record(z.string(), z.url()) });

/** How a refusal may look: FastAPI's detail, or Open-RL's failed request. */
const Refusal = z.union([
  z.object({ detail: z.string() }).transform(({ detail }) => detail),
  z
    .object({ type: z.literal('RequestFailedResponse'), error_message: z.string() })
    .transform(({ error_message }) => error_message),
  z.object({ error: z.string() }).transform(({ error }) => error),
  z.object({ error: z.object({ message: z.string() }) }).transform(({ error }) => error.message),
  z.object({ message: z.string() }).transform(({ message }) => message),
  z
    .object({ detail: z.array(z.object({ loc: z.array(z.unknown()), msg: z.string() })) })
    .transform(({ detail }) => detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ')),
]);

/** Characters of a server's text that a message repeats. */
const MOST_TEXT = 300;

/** What a refusal explains, shortened; undefined: nothing. */
export function explanationOf(text: string): string | undefined {
  const parsed = Refusal.safeParse(parseJson(text));
  const explanation = parsed.success ? parsed.data : text.trim();
  return explanation === '' ? undefined : explanation.slice(0, MOST_TEXT);
}

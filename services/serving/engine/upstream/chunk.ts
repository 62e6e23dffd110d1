import { z } from 'zod';

const tokenIds = z.array(z.int().min(0)).nullish().catch(null);
/** JSON has no NaN or infinity; a server may send null instead. */
const logProb = z.number().nullish();

/**
 * One frame of an OpenAI-compatible stream, with vLLM's token ids. Other fields are ignored. Invalid tokens and
 * counts are treated as missing, so that the answer is still served.
 */
export const UpstreamChunk = z.object({
  error: z.union([z.string(), z.looseObject({ message: z.string().nullish().catch(null) })]).nullish(),
  model: z.string().nullish(),
  prompt_token_ids: tokenIds,
  usage: z
    .object({
      prompt_tokens: z.int(),
      completion_tokens: z.int(),
      prompt_tokens_details: z.object({ cached_tokens: z.int().nullish() }).nullish().catch(null),
    })
    .nullish()
    .catch(null),
  choices: z
    .array(
      z.object({
        index: z.int().nullish(),
        delta: z
          .object({
            content: z.string().nullish(),
            reasoning_content: z.string().nullish(),
            /** the newer name in vLLM */
            reasoning: z.string().nullish(),
            tool_calls: z
              .array(
                z.object({
                  index: z.int().nullish(),
                  id: z.string().nullish(),
                  function: z
                    .object({ name: z.string().nullish(), arguments: z.string().nullish() })
                    .nullish(),
                }),
              )
              .nullish(),
          })
          .nullish(),
        token_ids: tokenIds,
        logprobs: z
          .object({
            content: z
              .array(
                z.object({
                  token: z.string(),
                  logprob: logProb,
                  top_logprobs: z.array(z.object({ token: z.string(), logprob: logProb })).nullish(),
                }),
              )
              .nullish(),
          })
          .nullish()
          .catch(null),
        finish_reason: z.string().nullish(),
        /** vLLM: the stop string or the token id that ended the answer */
        stop_reason: z.union([z.string(), z.int()]).nullish().catch(null),
      }),
    )
    .nullish()
    .transform((choices) => choices ?? []),
});
export type UpstreamChunk = z.output<typeof UpstreamChunk>;

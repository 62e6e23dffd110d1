import { z } from 'zod';

const tokenIds = z.array(z.int().min(0)).nullish().catch(null);
/** JSON has no NaN and no infinity; a server may write null for them. */
const logProb = z.number().nullish();

/**
 * One frame of an OpenAI-compatible stream, with vLLM's token ids. What else stands in it is ignored. Tokens
 * and counts that cannot be read are none: the answer is served all the same.
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
            /** the newer name of it, in vLLM */
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
        /** vLLM: the stop string that ended it, or the id of the token */
        stop_reason: z.union([z.string(), z.int()]).nullish().catch(null),
      }),
    )
    .nullish()
    .transform((choices) => choices ?? []),
});
export type UpstreamChunk = z.output<typeof UpstreamChunk>;

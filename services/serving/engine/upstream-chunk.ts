import { z } from 'zod';

/** One frame of an OpenAI-compatible stream, with vLLM's token ids. What else stands in it is ignored. */
export const UpstreamChunk = z.looseObject({
  error: z.looseObject({ message: z.string().optional() }).nullish(),
  prompt_token_ids: z.array(z.int()).nullish(),
  usage: z
    .looseObject({
      prompt_tokens: z.int(),
      completion_tokens: z.int(),
      prompt_tokens_details: z.looseObject({ cached_tokens: z.int().nullish() }).nullish(),
    })
    .nullish(),
  choices: z
    .array(
      z.looseObject({
        index: z.int().optional(),
        delta: z
          .looseObject({
            content: z.string().nullish(),
            reasoning_content: z.string().nullish(),
            tool_calls: z
              .array(
                z.looseObject({
                  index: z.int().optional(),
                  id: z.string().nullish(),
                  function: z
                    .looseObject({ name: z.string().nullish(), arguments: z.string().nullish() })
                    .nullish(),
                }),
              )
              .nullish(),
          })
          .nullish(),
        token_ids: z.array(z.int()).nullish(),
        logprobs: z
          .looseObject({
            content: z
              .array(
                z.looseObject({
                  token: z.string(),
                  logprob: z.number(),
                  top_logprobs: z.array(z.looseObject({ token: z.string(), logprob: z.number() })).nullish(),
                }),
              )
              .nullish(),
          })
          .nullish(),
        finish_reason: z.string().nullish(),
        /** vLLM: the stop string that ended it, or the id of the token */
        stop_reason: z.union([z.string(), z.int()]).nullish(),
      }),
    )
    .default([]),
});
export type UpstreamChunk = z.output<typeof UpstreamChunk>;

import { z } from 'zod';

/** [log-prob, id, text or null] */
const tokenLogProb = z.tuple([z.number().nullable(), z.int().min(0)], z.unknown());

/**
 * One event of SGLang's /generate stream. Lists begin at the answer's first token, or (with
 * `--incremental-streaming-output`) at the end of the previous event; `completion_tokens` counts all so far.
 */
export const SglangChunk = z.object({
  error: z.object({ message: z.string().optional() }).nullish(),
  /** of the choice, if there are several */
  index: z.int().nullish(),
  output_ids: z.array(z.int().min(0)).nullish(),
  meta_info: z
    .object({
      prompt_tokens: z.int(),
      completion_tokens: z.int(),
      cached_tokens: z.int().nullish(),
      /** of the full weights; a change within an answer means that they were replaced meanwhile */
      weight_version: z.string().nullish(),
      finish_reason: z
        .object({
          type: z.string(),
          matched: z.union([z.string(), z.int()]).nullish().catch(null),
          /** of an abort */
          message: z.string().nullish().catch(null),
          status_code: z.int().nullish().catch(null),
        })
        .nullish(),
      output_token_logprobs: z.array(tokenLogProb).nullish().catch(null),
      output_top_logprobs: z.array(z.array(tokenLogProb).nullish()).nullish().catch(null),
    })
    .optional(),
});
export type SglangChunk = z.output<typeof SglangChunk>;

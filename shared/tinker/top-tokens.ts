import { SamplerAnswer, TopTokensAnswer } from './answers.ts';
import type { Connection } from './connection.ts';
import { type DecodedTopTokens, decodeTopTokens } from './protobuf.ts';
import { PROTOBUF } from './read-answers.ts';
import type { ServerSequence, TopTokens } from './training-server.ts';

type TopTokensRequest = {
  readonly count: number;
  readonly model: string;
  readonly sequence: number;
  /** number of the sampler among those of the session */
  readonly sampler: number;
  readonly signal: AbortSignal;
};

/**
 * The most likely tokens of each response position under the model as it is now: a sampler of its own reads prompt and
 * response as a prompt, and samples one token that nobody needs.
 *
 * @throws BAD_ANSWER if the server returns fewer tokens
 */
export async function topTokensOf(
  connection: Connection,
  sequences: readonly ServerSequence[],
  { count, model, sequence, sampler, signal }: TopTokensRequest,
): Promise<readonly TopTokens[]> {
  const options = { signal, model, sequence };
  const saved = await connection.future(
    'save_weights_for_sampler',
    { model_id: model, seq_id: sequence, sampling_session_seq_id: sampler, type: 'save_weights_for_sampler' },
    options,
  );
  const { sampling_session_id: session } = connection.parse(SamplerAnswer, saved, 'save_weights_for_sampler');
  const results: TopTokens[] = [];
  for (const [index, { promptIds, responseIds }] of sequences.entries()) {
    const tokens = [...promptIds, ...responseIds];
    const body = {
      num_samples: 1,
      prompt: { chunks: [{ type: 'encoded_text', tokens }] },
      sampling_params: { max_tokens: 1, temperature: 1, seed: 1, top_k: -1, top_p: 1 },
      sampling_session_id: session,
      seq_id: index + 1,
      prompt_logprobs: true,
      topk_prompt_logprobs: count,
      type: 'sample',
    };
    const accept = connection.settings.dialect.body === 'protobuf' ? PROTOBUF : 'application/json';
    const answer = await connection.future('asample', body, { ...options, accept });
    const all =
      answer.kind === 'protobuf'
        ? decoded(connection, answer.bytes)
        : fromLists(connection.parse(TopTokensAnswer, answer, 'asample').topk_prompt_logprobs, count);
    const from = all.ids.length - responseIds.length * all.k;
    if (all.k !== count || from < 0 || !all.logProbs.subarray(from).every(isLogProb))
      throw connection.badAnswer('asample', `not ${count} likely tokens at each position`);
    results.push({ ids: all.ids.slice(from), logProbs: all.logProbs.slice(from) });
  }
  return results;
}

/** The service fills absent entries with -99999. */
const isLogProb = (value: number): boolean => Number.isFinite(value) && value > -99_999;

function decoded(connection: Connection, bytes: Uint8Array): DecodedTopTokens {
  try {
    return decodeTopTokens(bytes);
  } catch (error) {
    throw connection.badAnswer('asample', (error as Error).message);
  }
}

function fromLists(
  lists: readonly (readonly (readonly [number, number])[] | null)[],
  count: number,
): DecodedTopTokens {
  const padded = lists.map((list) =>
    Array.from({ length: count }, (_, k) => list?.[k] ?? ([0, -99_999] as const)),
  );
  return {
    ids: Int32Array.from(padded.flat(), ([id]) => id),
    logProbs: Float32Array.from(padded.flat(), ([, logProb]) => logProb),
    k: count,
  };
}

import { AnyAnswer, FutureAnswer } from './answers.ts';
import type { Connection } from './connection.ts';
import { checkSequences } from './datum.ts';
import { TinkerError } from './errors.ts';
import { createModelFiles } from './model-files.ts';
import { checkCandidates, createModelTraining, type SequenceLimits } from './model-training.ts';
import { createNumberedRequests } from './numbered-requests.ts';
import { topTokensOf } from './top-tokens.ts';
import type { TrainingCalls } from './training-calls.ts';
import type { RemoteModel } from './training-server.ts';

export type ModelPlace = {
  readonly connection: Connection;
  readonly calls: TrainingCalls;
  readonly id: string;
  /** name of the base model there */
  readonly baseModel: string;
  /** ends every call but `unload` */
  readonly signal: AbortSignal;
  readonly limits: SequenceLimits;
};

/** ms for `unload`, which nothing waits for in earnest */
const UNLOAD_LIMIT_MS = 20_000;

/** A model on the server. Its calls wait for each other, so their numbers are their order. */
export function remoteModel({ connection, calls, id, baseModel, signal, limits }: ModelPlace): RemoteModel {
  const { capabilities } = connection.settings.dialect;
  const requests = createNumberedRequests(connection, id, signal);
  const { score, ...training } = createModelTraining(connection, requests, { calls, limits });
  const lacking = (what: string) => TinkerError.NOT_ON_THIS_SERVER({ dialect: calls.dialect, what });
  let samplers = 0;
  let unloaded: Promise<void> | undefined;
  return {
    id,
    ...training,
    ...createModelFiles(connection, requests, { dialect: calls.dialect, baseModel }),
    forward: async (sequences) => (await score(sequences)).map(({ own }) => own),
    forwardCandidates: async (sequences, candidates) => {
      if (!capabilities.severalTargets) throw lacking('several targets per position');
      const { count, ids } = candidates;
      checkCandidates(sequences, candidates);
      const scored = await score(sequences, candidates);
      return {
        sampled: scored.map(({ own, width }) => own.filter((_, at) => at % width === 0)),
        candidates: scored.map(({ own }, index) =>
          ids[index] === undefined ? undefined : own.filter((_, at) => at % (1 + count) !== 0),
        ),
      };
    },
    topTokens: async (sequences, count) => {
      if (!capabilities.topTokens) throw lacking('the most likely tokens of a position');
      checkSequences(sequences, limits());
      const lengths = sequences.map(
        ({ promptIds, responseIds }) => promptIds.length + responseIds.length + 1,
      );
      connection.settings.meter.charge(
        'sampledTokens',
        lengths.reduce((sum, length) => sum + length, 0),
      );
      return requests.next((sequence) =>
        topTokensOf(connection, sequences, { count, model: id, sequence, sampler: samplers++, signal }),
      );
    },
    unload: () => {
      unloaded ??= unload(connection, id);
      return unloaded;
    },
  };
}

/** Frees a model, also after the session's signal has aborted. Never rejects: the server frees it later itself. */
export async function unload(connection: Connection, id: string): Promise<void> {
  const options = { signal: AbortSignal.timeout(UNLOAD_LIMIT_MS), isRepeatable: true };
  const body = { model_id: id, type: 'unload_model' };
  await connection
    .call('POST', 'unload_model', AnyAnswer, body, options)
    .then(async (answer) => {
      const promised = FutureAnswer.safeParse(answer);
      if (!promised.success) return;
      await connection.result(promised.data.request_id, 'unload_model', options);
    })
    .catch(() => {});
}

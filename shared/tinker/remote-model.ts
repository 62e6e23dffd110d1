import { createMutex } from '../lang/async.ts';
import { adapterFileNames } from '../policy/checkpoints/adapter-files.ts';
import { isServiceError } from '../runtime/errors.ts';
import { MOST_ADAPTER_BYTES, readAdapterArchive, wholeAdapter } from './adapter-archive.ts';
import { AnyAnswer, FutureAnswer, OptimizerAnswer, PathAnswer, UrlsAnswer } from './answers.ts';
import type { Connection, RawResult } from './connection.ts';
import { checkName, checkRows, checkSequences, chunksOf, type Datum, invalid } from './datum.ts';
import { TinkerError } from './errors.ts';
import { promotedAdapterUrls } from './fireworks-adapter.ts';
import { scoringDatums, surrogateDatums } from './surrogate.ts';
import { topTokensOf } from './top-tokens.ts';
import type { TrainingCalls } from './training-calls.ts';
import type {
  RemoteModel,
  ServerAdam,
  ServerCandidates,
  ServerSequence,
  ServerSlopes,
} from './training-server.ts';

export type ModelPlace = {
  readonly connection: Connection;
  readonly calls: TrainingCalls;
  readonly id: string;
  /** name of the base model there */
  readonly baseModel: string;
  /** ends every call but `unload` */
  readonly signal: AbortSignal;
  readonly limits: () => Parameters<typeof checkSequences>[1];
};

/** ms for `unload`, which nothing waits for in earnest */
const UNLOAD_LIMIT_MS = 20_000;

/** A model on the server. Its calls wait for each other, so their numbers are their order. */
export function remoteModel({ connection, calls, id, baseModel, signal, limits }: ModelPlace): RemoteModel {
  const { dialect, meter } = connection.settings;
  const { capabilities } = dialect;
  const inTurn = createMutex();
  let sequence = 0;
  let samplers = 0;
  let failure: { readonly error: unknown } | undefined;
  let unloaded: Promise<void> | undefined;

  /** Sends the next numbered request. After a failure nobody knows what the model has done. */
  const numbered = <Result>(send: (sequence: number) => Promise<Result>): Promise<Result> =>
    inTurn(async () => {
      if (failure !== undefined) throw failure.error;
      signal.throwIfAborted();
      sequence += 1;
      try {
        return await send(sequence);
      } catch (error) {
        failure = { error };
        throw error;
      }
    });

  const request = (path: string, body: object, isRepeatable = false): Promise<RawResult> =>
    numbered((sequence) =>
      connection.future(
        path,
        { model_id: id, seq_id: sequence, ...body },
        { signal, isRepeatable, model: id, sequence },
      ),
    );

  /** Log-probs of all targets of the datums, in requests of bounded size. */
  const train = async (datums: readonly Datum[], loss: string, forwardOnly: boolean) => {
    const isForward = forwardOnly && dialect.forward === 'forward';
    const tokens = datums.reduce((sum, datum) => sum + datum.tokens.length, 0);
    meter.charge(isForward ? 'forwardTokens' : 'trainedTokens', tokens);
    const results: (Float32Array | undefined)[] = [];
    for (const chunk of chunksOf(datums, calls.bytesPerNumber())) {
      const call = { modelId: id, loss, datums: chunk, forwardOnly: isForward };
      results.push(...(await numbered((number) => calls.send({ ...call, sequence: number }, signal))));
    }
    return results;
  };

  const score = async (sequences: readonly ServerSequence[], candidates?: ServerCandidates) => {
    checkSequences(sequences, limits());
    const datums = scoringDatums(sequences, candidates);
    const answered = await train(datums, 'cross_entropy', true);
    return sequences.map(({ responseIds }, index) => {
      const width = candidates?.ids[index] === undefined ? 1 : 1 + candidates.count;
      const all = answered[index];
      const expected = datums[index]!.tokens.length * width;
      if (all?.length !== expected)
        throw connection.badAnswer('forward', `${all?.length ?? 'no'} log-probs, not ${expected}`);
      const own = all.subarray(all.length - responseIds.length * width);
      if (!own.every(Number.isFinite))
        throw TinkerError.NOT_FINITE({ detail: 'a log-prob that is not finite' });
      return { own, width };
    });
  };

  /** Saves under a name. Only this model uses the name, so one that exists is the result of a lost answer. */
  const save = async (kind: string, name: string, folder: string): Promise<{ readonly path: string }> => {
    checkName(name);
    return numbered(async (sequence) => {
      const body = { model_id: id, seq_id: sequence, path: name, type: kind };
      try {
        const options = { signal, isRepeatable: true, model: id, sequence };
        return connection.parse(PathAnswer, await connection.future(kind, body, options), kind);
      } catch (error) {
        if (!isServiceError(error) || error.code !== 'state_exists') throw error;
        return { path: `tinker://${id}/${folder}/${name}` };
      }
    });
  };

  return {
    id,
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
      meter.charge(
        'sampledTokens',
        sequences.reduce(
          (sum, { promptIds, responseIds }) => sum + promptIds.length + responseIds.length + 1,
          0,
        ),
      );
      return numbered((number) =>
        topTokensOf(connection, sequences, {
          count,
          model: id,
          sequence: number,
          sampler: samplers++,
          signal,
        }),
      );
    },
    addGradient: async (sequences, slopes, context) => {
      checkSequences(sequences, limits());
      checkSlopes(sequences, slopes, context);
      if (slopes.candidates !== undefined && !capabilities.severalTargets)
        throw lacking('several targets per position');
      const { surrogate } = dialect;
      await train(surrogateDatums(surrogate, sequences, slopes, context), surrogate.loss, false);
    },
    optimizerStep: async (adam) => {
      checkAdam(adam);
      const { gradientClip } = adam;
      if (gradientClip !== undefined && !capabilities.gradientClip) throw lacking('clipping of the gradient');
      const answer = await request('optim_step', {
        adam_params: {
          learning_rate: adam.learningRate,
          beta1: adam.beta1,
          beta2: adam.beta2,
          eps: adam.epsilon,
          weight_decay: adam.weightDecay,
          ...(gradientClip !== undefined && { grad_clip_norm: gradientClip }),
          ...dialect.optimizer.adam,
        },
        ...dialect.optimizer.members,
        type: 'optim_step',
      });
      const { metrics } = connection.parse(OptimizerAnswer, answer, 'optim_step');
      const name = dialect.gradientNorm.find((known) => metrics[known] !== undefined);
      if (name === undefined) return { gradientNorm: undefined };
      const gradientNorm = Number(metrics[name] ?? Number.NaN);
      if (Number.isFinite(gradientNorm)) return { gradientNorm };
      const error = TinkerError.NOT_FINITE({ detail: `a gradient norm of ${metrics[name]}` });
      failure = { error };
      throw error;
    },
    saveState: (name) => save('save_weights', name, 'weights'),
    loadState: async (path) => {
      if (sequence > 0) throw invalid('a state can only be loaded by the first request of a model');
      const body = { path, optimizer: true, type: 'load_weights' };
      await request('load_weights', body, true).catch((error: unknown) => {
        const isMissing = isServiceError(error) && error.code === 'state_missing';
        throw isMissing ? TinkerError.STATE_MISSING({ path, detail: 'not found' }) : error;
      });
    },
    downloadAdapter: async (name) => {
      const options = { signal, model: id };
      const filesAt = async (urls: Readonly<Record<string, string>>) => {
        const files = new Map<string, Uint8Array>();
        for (const file of adapterFileNames.filter((known) => urls[known] !== undefined))
          files.set(file, (await connection.file(urls[file]!, MOST_ADAPTER_BYTES, options)).bytes);
        return wholeAdapter(files);
      };
      switch (dialect.adapter) {
        case 'none':
          throw lacking('the download of an adapter over HTTP');
        case 'archive': {
          await save('save_weights_for_sampler', name, 'sampler_weights');
          const place = `training_runs/${id}/checkpoints/${name}/archive`;
          const { bytes } = await connection.file(place, MOST_ADAPTER_BYTES, options);
          const files = await readAdapterArchive(bytes);
          if (capabilities.deletesStates) await removeAdapter(connection, id, name, signal);
          return files;
        }
        case 'external': {
          await save('save_weights_external', name, 'external_weights');
          const place = `training_runs/${id}/checkpoints/external_weights/${name}/external_weights_urls`;
          const { urls } = await connection.call('GET', place, UrlsAnswer, undefined, options);
          return filesAt(urls);
        }
        case 'promoted': {
          const { path } = await save('save_weights_for_sampler', name, 'sampler_weights');
          const { urls, remove } = await promotedAdapterUrls(connection, { path, baseModel }, options);
          return filesAt(urls).finally(remove);
        }
      }
    },
    unload: () => {
      unloaded ??= unload(connection, id);
      return unloaded;
    },
  };

  function lacking(what: string) {
    return TinkerError.NOT_ON_THIS_SERVER({ dialect: calls.dialect, what });
  }
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

/** The server needs the adapter no longer. One that stays costs disk there and does no other harm. */
async function removeAdapter(
  connection: Connection,
  id: string,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const options = { signal, isRepeatable: true, isEmpty: true };
  const place = `training_runs/${id}/checkpoints/sampler_weights/${name}`;
  await connection.call('DELETE', place, AnyAnswer, undefined, options).catch(() => {});
}

function checkCandidates(sequences: readonly ServerSequence[], { count, ids }: ServerCandidates): void {
  if (!(Number.isInteger(count) && count > 0)) throw invalid(`${count} candidates per position`);
  const lengths = sequences.map(({ responseIds }) => responseIds.length * count);
  checkRows('candidates', ids, lengths);
}

function checkSlopes(
  sequences: readonly ServerSequence[],
  { sampled, candidates }: ServerSlopes,
  { current, sequencesUntilStep }: Parameters<RemoteModel['addGradient']>[2],
): void {
  const lengths = sequences.map(({ responseIds }) => responseIds.length);
  checkRows('slopes', sampled, lengths);
  checkRows('current', current, lengths);
  if (!(sequencesUntilStep >= sequences.length))
    throw invalid(`${sequences.length} sequences, of ${sequencesUntilStep} until the optimizer step`);
  if (candidates === undefined) return;
  checkCandidates(sequences, candidates);
  checkRows(
    'slopes of candidates',
    candidates.slopes,
    lengths.map((length) => length * candidates.count),
  );
}

function checkAdam({ gradientClip = 0, ...numbers }: ServerAdam): void {
  for (const [name, value] of Object.entries({ gradientClip, ...numbers }))
    if (!(Number.isFinite(value) && value >= 0)) throw invalid(`${name} is ${value}`);
}

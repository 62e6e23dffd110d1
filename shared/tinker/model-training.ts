import { OptimizerAnswer } from './answers.ts';
import type { Connection } from './connection.ts';
import { checkRows, checkSequences, chunksOf, type Datum, invalid } from './datum.ts';
import type { Dialect } from './dialects.ts';
import { TinkerError } from './errors.ts';
import type { NumberedRequests } from './numbered-requests.ts';
import { scoringDatums, surrogateDatums } from './surrogate.ts';
import type { TrainingCalls } from './training-calls.ts';
import type {
  RemoteModel,
  ServerAdam,
  ServerCandidates,
  ServerSequence,
  ServerSlopes,
} from './training-server.ts';

export type SequenceLimits = () => Parameters<typeof checkSequences>[1];

type Scored = { readonly own: Float32Array; readonly width: number };

type ModelTraining = Pick<RemoteModel, 'addGradient' | 'optimizerStep'> & {
  /** of each sequence: log-probs of the sampled tokens and their candidates, [T * width] */
  readonly score: (
    sequences: readonly ServerSequence[],
    candidates?: ServerCandidates,
  ) => Promise<readonly Scored[]>;
};

/** Scores, gradients and optimizer steps of a model. */
export function createModelTraining(
  connection: Connection,
  requests: NumberedRequests,
  { calls, limits }: { readonly calls: TrainingCalls; readonly limits: SequenceLimits },
): ModelTraining {
  const { dialect, meter } = connection.settings;
  const lacking = (what: string) => TinkerError.NOT_ON_THIS_SERVER({ dialect: calls.dialect, what });

  /** Log-probs of all targets of the datums, in requests of bounded size. */
  const train = async (datums: readonly Datum[], loss: string, forwardOnly: boolean) => {
    const isForward = forwardOnly && dialect.forward === 'forward';
    const tokens = datums.reduce((sum, datum) => sum + datum.tokens.length, 0);
    meter.charge(isForward ? 'forwardTokens' : 'trainedTokens', tokens);
    const results: (Float32Array | undefined)[] = [];
    for (const chunk of chunksOf(datums, calls.bytesPerNumber())) {
      const call = { modelId: requests.model, loss, datums: chunk, forwardOnly: isForward };
      results.push(
        ...(await requests.next((sequence) => calls.send({ ...call, sequence }, requests.signal))),
      );
    }
    return results;
  };

  const score: ModelTraining['score'] = async (sequences, candidates) => {
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

  return {
    score,
    addGradient: async (sequences, slopes, context) => {
      checkSequences(sequences, limits());
      checkSlopes(sequences, slopes, context);
      if (slopes.candidates !== undefined && !dialect.capabilities.severalTargets)
        throw lacking('several targets per position');
      const { surrogate } = dialect;
      await train(surrogateDatums(surrogate, sequences, slopes, context), surrogate.loss, false);
    },
    optimizerStep: async (adam) => {
      checkAdam(adam);
      if (adam.gradientClip !== undefined && !dialect.capabilities.gradientClip)
        throw lacking('clipping of the gradient');
      const answer = await requests.post('optim_step', optimizerRequest(dialect.optimizer, adam));
      const { metrics } = connection.parse(OptimizerAnswer, answer, 'optim_step');
      const name = dialect.gradientNorm.find((known) => metrics[known] !== undefined);
      if (name === undefined) return { gradientNorm: undefined };
      const gradientNorm = Number(metrics[name] ?? Number.NaN);
      if (Number.isFinite(gradientNorm)) return { gradientNorm };
      throw requests.fail(TinkerError.NOT_FINITE({ detail: `a gradient norm of ${metrics[name]}` }));
    },
  };
}

const optimizerRequest = (
  { members, adam: further }: Dialect['optimizer'],
  { learningRate, beta1, beta2, epsilon, weightDecay, gradientClip }: ServerAdam,
) => ({
  adam_params: {
    learning_rate: learningRate,
    beta1,
    beta2,
    eps: epsilon,
    weight_decay: weightDecay,
    ...(gradientClip !== undefined && { grad_clip_norm: gradientClip }),
    ...further,
  },
  ...members,
  type: 'optim_step',
});

/** @throws INVALID_REQUEST */
export function checkCandidates(
  sequences: readonly ServerSequence[],
  { count, ids }: ServerCandidates,
): void {
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

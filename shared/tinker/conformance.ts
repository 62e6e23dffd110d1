import { createRandom } from '../policy/model/random.ts';
import { TinkerError } from './errors.ts';
import { scoreUntrained } from './score-untrained.ts';
import type { RemoteModel, RemoteSession, ServerSequence, TrainingServer } from './training-server.ts';

/** What the caller's own engine computes for the same model. Each part is optional. */
export type ConformanceReference = {
  /** log p of each response token under the base model, nats, [N][T] */
  readonly score?: (sequences: readonly ServerSequence[]) => readonly ArrayLike<number>[];
  /** L2 norm of the gradient of an adapter, in PEFT's files, that the slopes give */
  readonly gradientNorm?: (
    adapter: ReadonlyMap<string, Uint8Array>,
    sequences: readonly ServerSequence[],
    slopes: readonly ArrayLike<number>[],
  ) => Promise<number>;
};

export type ConformanceOptions = {
  /** tokens of the probes are below it */
  readonly vocabularySize: number;
  /** of the throw-away models; default 8 */
  readonly rank?: number;
  readonly reference?: ConformanceReference;
  /**
   * nats by which log-probs may differ from the reference; default 0.05, which also covers a server in bf16 with a
   * reference in f32
   */
  readonly tolerance?: number;
  /** called before each part */
  readonly onProgress?: (done: number, of: number) => void;
};

export type ConformanceReport = {
  /** L2 norm of the probe's gradient; undefined: the server does not report norms */
  readonly gradientNorm: number | undefined;
  /** largest difference of the log-probs from the reference, nats; undefined: no reference */
  readonly logProbs: number | undefined;
};

type Probe = {
  readonly sequences: readonly ServerSequence[];
  readonly slopes: readonly (readonly number[])[];
};

/** Relative: a server in bf16 has 8 bits, and the sizes that a wrong dialect gives differ by 2 or more. */
const TOLERANCE = 0.15;
/** nats by which the probe's weighted log-probs fall in the last part */
const MOVE = 0.05;
const SEED = 11;

/**
 * Checks on throw-away models that gradients arrive as they are meant, because a wrong dialect trains without an error:
 * a gradient doubles with the slopes and with each repeated sequence, does not depend on tokens without a slope, and
 * moves the log-probs as its norm says.
 *
 * @throws WRONG_GRADIENT, BROKEN_WEIGHTS; errors of the session
 */
export async function checkConformance(
  server: TrainingServer,
  { vocabularySize, rank = 8, reference = {}, tolerance = 0.05, onProgress = () => {} }: ConformanceOptions,
  signal: AbortSignal,
): Promise<ConformanceReport> {
  const session = await server.openSession({ purpose: 'conformance' }, signal);
  try {
    const probes = createProbes(vocabularySize);
    const parts = probes.length + 1;
    const model = await session.createModel({ rank, seed: SEED });
    const scored = await scoreUntrained(model, probes[0]!.probe.sequences);
    const logProbs = compareScores(server, scored, probes[0]!.probe, { reference, tolerance });
    const measured: Measured[] = [];
    for (const [index, { probe }] of probes.entries()) {
      onProgress(index, parts);
      measured.push(await measure(server, { session, model, rank }, probe, measured[0]));
    }
    probes.forEach(({ what, ratio, of }, index) => {
      const [size, base] = [measured[index]!.size, measured[of]!.size];
      if (!(Math.abs(size / base - ratio) <= TOLERANCE * ratio))
        throw wrong(
          server,
          `${what} gives ${(size / base).toFixed(3)} times the gradient, not ${ratio} times`,
        );
    });
    onProgress(probes.length, parts);
    const { gradientNorm } = measured[0]!;
    if (gradientNorm !== undefined) {
      await compareNorm(server, model, probes[0]!.probe, { reference, gradientNorm });
      if (server.capabilities.adamPerRequest)
        await compareMove(server, model, probes[0]!.probe, gradientNorm);
    }
    return { gradientNorm, logProbs };
  } finally {
    await session.close();
  }
}

type PlannedProbe = {
  readonly probe: Probe;
  readonly what: string;
  /** expected size of its gradient, as a multiple of that of probe `of` */
  readonly ratio: number;
  readonly of: number;
};

/** Two sequences of unequal lengths and what is made of them. */
function createProbes(vocabularySize: number): readonly PlannedProbe[] {
  const random = createRandom(SEED);
  const ids = (length: number) => Array.from({ length }, () => Math.floor(random() * vocabularySize));
  const long = { promptIds: ids(6), responseIds: ids(12) };
  const short = { promptIds: ids(3), responseIds: ids(5) };
  const slopesFor = ({ responseIds }: ServerSequence) =>
    responseIds.map(() => (random() < 0.5 ? -1 : 1) * (0.5 + random()));
  const sequences = [long, short];
  const slopes = sequences.map(slopesFor);
  const kept = 4;
  return [
    { probe: { sequences, slopes }, what: 'the same gradient', ratio: 1, of: 0 },
    {
      probe: { sequences, slopes: slopes.map((row) => row.map((slope) => 2 * slope)) },
      what: 'slopes twice as large',
      ratio: 2,
      of: 0,
    },
    {
      probe: { sequences: [...sequences, ...sequences], slopes: [...slopes, ...slopes] },
      what: 'each sequence twice',
      ratio: 2,
      of: 0,
    },
    {
      probe: {
        sequences: [{ ...long, responseIds: long.responseIds.slice(0, kept) }],
        slopes: [slopes[0]!.slice(0, kept)],
      },
      what: 'the beginning of a sequence',
      ratio: 1,
      of: 3,
    },
    {
      probe: { sequences: [long], slopes: [slopes[0]!.map((slope, t) => (t < kept ? slope : 0))] },
      what: 'further tokens with a slope of 0',
      ratio: 1,
      of: 3,
    },
  ];
}

type Measured = {
  /** proportional to the gradient: its norm, or the root of by how much a small step moves the log-probs */
  readonly size: number;
  readonly gradientNorm: number | undefined;
  /** of the small step */
  readonly rate: number;
};

/**
 * Measures a gradient at the weights of a new model. A rate of 0 leaves the weights as they are, so that one model
 * serves all probes; a server without norms needs a new model for each.
 */
async function measure(
  server: TrainingServer,
  {
    session,
    model,
    rank,
  }: { readonly session: RemoteSession; readonly model: RemoteModel; readonly rank: number },
  probe: Probe,
  first: Measured | undefined,
): Promise<Measured> {
  if (first === undefined || first.gradientNorm !== undefined) {
    await addProbe(model, probe);
    const { gradientNorm } = await model.optimizerStep(stepOf(0, 1));
    if (gradientNorm !== undefined) return { size: gradientNorm, gradientNorm, rate: 0 };
  }
  // The first probe looks for a rate that shows; the others use it.
  for (let rate = first?.rate ?? 1e-4; ; rate *= 4) {
    const fresh = await session.createModel({ rank, seed: SEED });
    try {
      const moved = await moveOf(fresh, probe, stepOf(rate, SMALL_STEP_EPSILON));
      if (first !== undefined || moved >= MOVE)
        return { size: Math.sqrt(moved), gradientNorm: undefined, rate };
      if (rate > 1e6) throw wrong(server, 'an optimizer step changes nothing');
    } finally {
      await fresh.unload();
    }
  }
}

/** So much above every element of a gradient that the step is proportional to it. */
const SMALL_STEP_EPSILON = 1e4;

const stepOf = (learningRate: number, epsilon: number) => ({
  learningRate,
  beta1: 0,
  beta2: 0,
  epsilon,
  weightDecay: 0,
  gradientClip: undefined,
});

async function addProbe(model: RemoteModel, { sequences, slopes }: Probe): Promise<number> {
  const current = await model.forward(sequences);
  await model.addGradient(sequences, { sampled: slopes }, { current, sequencesUntilStep: sequences.length });
  return weighted(current, slopes);
}

const weighted = (logProbs: readonly ArrayLike<number>[], slopes: Probe['slopes']): number =>
  slopes.reduce((sum, row, n) => row.reduce((total, slope, t) => total + slope * logProbs[n]![t]!, sum), 0);

/** By how much a step along -gradient lowers the sum of slope * logProb, nats: rate * norm^2, to first order. */
async function moveOf(model: RemoteModel, probe: Probe, step: ReturnType<typeof stepOf>): Promise<number> {
  const before = await addProbe(model, probe);
  await model.optimizerStep(step);
  return before - weighted(await model.forward(probe.sequences), probe.slopes);
}

function compareScores(
  server: TrainingServer,
  scored: readonly Float32Array[],
  { sequences }: Probe,
  { reference, tolerance }: { readonly reference: ConformanceReference; readonly tolerance: number },
): number | undefined {
  if (reference.score === undefined) return undefined;
  const expected = reference.score(sequences);
  const differences = scored.flatMap((row, n) =>
    Array.from(row, (value, t) => Math.abs(value - expected[n]![t]!)),
  );
  const largest = Math.max(...differences);
  if (largest <= tolerance) return largest;
  throw wrong(
    server,
    `the log-probs of the base model differ from those here by ${largest.toFixed(3)} nats, so it is another model`,
  );
}

async function compareNorm(
  server: TrainingServer,
  model: RemoteModel,
  { sequences, slopes }: Probe,
  { reference, gradientNorm }: { readonly reference: ConformanceReference; readonly gradientNorm: number },
): Promise<void> {
  if (reference.gradientNorm === undefined || !server.capabilities.adapterDownload) return;
  const expected = await reference.gradientNorm(
    await model.downloadAdapter('conformance'),
    sequences,
    slopes,
  );
  if (!(Math.abs(gradientNorm / expected - 1) <= TOLERANCE))
    throw wrong(server, `its norm is ${gradientNorm.toPrecision(4)}, and here ${expected.toPrecision(4)}`);
}

/** A norm that fits its own ratios may still be a multiple of the true one. */
async function compareMove(
  server: TrainingServer,
  model: RemoteModel,
  probe: Probe,
  norm: number,
): Promise<void> {
  const epsilon = 100 * norm;
  const rate = MOVE / norm ** 2;
  const moved = await moveOf(model, probe, stepOf(rate * epsilon, epsilon));
  if (!(Math.abs(moved / MOVE - 1) <= 2 * TOLERANCE))
    throw wrong(
      server,
      `a step of gradient norm ${norm.toPrecision(4)} moves the log-probs by ${(moved / MOVE).toFixed(3)} times what it must`,
    );
}

function wrong(server: TrainingServer, detail: string) {
  return TinkerError.WRONG_GRADIENT({ dialect: server.dialect, detail });
}

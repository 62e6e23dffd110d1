import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AdapterFile, writeAdapter } from '../../../shared/policy/checkpoints/adapter-files.ts';
import type { TrainedWeights } from '../../../shared/policy/checkpoints/full-weights.ts';
import type { LocalOptimizer } from '../../../shared/policy/checkpoints/state.ts';
import { createAdamW, emptyAdamWState } from '../../../shared/policy/train/adamw.ts';
import { addInto } from '../../../shared/policy/train/training.ts';
import { TinkerError } from '../../../shared/tinker/errors.ts';
import type { RemoteModel, ServerSequence, TrainingServer } from '../../../shared/tinker/training-server.ts';
import type { LearningEngine } from '../learning-engine.ts';
import { type RemoteOptions, remoteTraining } from '../remote/remote-training.ts';
import type { TrainingEngine } from '../trainee.ts';

type State = { readonly adapter: AdapterFile; readonly optimizer: LocalOptimizer };

/** Of all servers, by path: a step begins where another ended, although each has a server of its own. */
const states = new Map<string, State>();

/**
 * For tests: a training server in memory, whose models are those of an engine, without HTTP. It does everything that
 * the Tinker API offers; seeds and arithmetic are those of the engine.
 */
export function toyServer(engine: LearningEngine): TrainingServer {
  return {
    dialect: 'tinker',
    model: 'toy',
    capabilities: {
      severalTargets: true,
      topTokens: true,
      gradientClip: true,
      adamPerRequest: true,
      fixedAlpha: undefined,
      powerOfTwoRank: false,
      deduplicates: true,
      deletesStates: true,
      largestBeta: undefined,
      stepsAllModels: false,
      adapterDownload: true,
    },
    check: async () => ({ models: ['toy'], contextTokens: undefined }),
    openSession: async () => ({
      id: 'session',
      createModel: async ({ rank, seed, alpha = 32 }) => {
        const made = engine.createAdapter({ training: 'lora', rank, alpha, seed });
        return toyModel(engine, made as AdapterFile);
      },
      close: async () => {},
    }),
    removeState: async (path) => void states.delete(path),
    usage: () => ({ requests: 0, forwardTokens: 0, trainedTokens: 0, sampledTokens: 0 }),
    close: async () => {},
  };
}

function toyModel(engine: LearningEngine, fresh: AdapterFile): RemoteModel {
  const id = randomUUID();
  let held: State = { adapter: fresh, optimizer: emptyAdamWState() };
  let gradients = new Map<string, Float32Array>();
  const candidateRows = (sequences: readonly ServerSequence[], ids: readonly (Int32Array | undefined)[]) => {
    const requested = sequences.map(({ responseIds }, n) => ids[n] ?? new Int32Array(responseIds.length));
    return engine.distributions(held.adapter, sequences, { count: 1, requested });
  };
  return {
    id,
    forward: async (sequences) => engine.score(held.adapter, sequences),
    forwardCandidates: async (sequences, { ids }) => {
      const made = candidateRows(sequences, ids);
      return {
        sampled: made.map(({ sampled }) => sampled),
        candidates: made.map(({ requested }, n) => (ids[n] === undefined ? undefined : requested)),
      };
    },
    topTokens: async (sequences, count) =>
      engine
        .distributions(held.adapter, sequences, { count })
        .map(({ topIds, top }) => ({ ids: topIds, logProbs: top })),
    addGradient: async (sequences, { sampled, candidates }) => {
      const slopes = { sampled, ...(candidates && { candidates: candidates.slopes }) };
      const beside = candidates && { count: candidates.count, ids: candidates.ids, rest: false };
      addInto(
        gradients,
        engine.gradients(held.adapter, sequences, () => slopes, beside),
      );
    },
    optimizerStep: async ({ gradientClip, ...adam }) => {
      const clip = gradientClip === undefined ? {} : { maxGradientNorm: gradientClip };
      const copy = copyOf(held);
      const parameters = new Map([...copy.adapter.tensors].map(([name, { values }]) => [name, values]));
      try {
        const applied = createAdamW({ ...adam, ...clip }).step(parameters, gradients, copy.optimizer);
        held = copy;
        return applied;
      } catch {
        throw TinkerError.NOT_FINITE({ detail: 'a gradient norm of null' });
      } finally {
        gradients = new Map();
      }
    },
    saveState: async (name) => {
      const path = `tinker://${id}/weights/${name}`;
      states.set(path, copyOf(held));
      return { path };
    },
    loadState: async (path) => {
      const saved = states.get(path);
      if (saved === undefined) throw TinkerError.STATE_MISSING({ path, detail: 'not found' });
      held = copyOf(saved);
    },
    downloadAdapter: async () => filesOf(held.adapter),
    unload: async () => {},
  };
}

const copyOf = ({ adapter, optimizer }: State) => {
  const moments = (from: LocalOptimizer['first']) =>
    new Map([...from].map(([name, values]) => [name, values.slice()]));
  const tensors = [...adapter.tensors].map(
    ([name, { shape, values }]) => [name, { shape, values: values.slice() }] as const,
  );
  return {
    adapter: { ...adapter, tensors: new Map(tensors) },
    optimizer: { step: optimizer.step, first: moments(optimizer.first), second: moments(optimizer.second) },
  };
};

async function filesOf(adapter: AdapterFile): Promise<ReadonlyMap<string, Uint8Array>> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-toy-'));
  try {
    await writeAdapter(folder, adapter);
    const names = await readdir(folder);
    return new Map(
      await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** For tests: the engine's policies, trained over the protocol of a training server. */
export const toyRemote = (engine: LearningEngine, changes: Partial<RemoteOptions> = {}): TrainingEngine =>
  remoteTraining({
    server: toyServer(engine),
    url: 'http://toy',
    shapesOf: (rank) => {
      const made: TrainedWeights = engine.createAdapter({ training: 'lora', rank, alpha: 1, seed: 1 });
      return new Map([...made.tensors].map(([name, { shape }]) => [name, shape]));
    },
    writePrompt: engine.writePrompt,
    contextTokens: engine.contextTokens,
    probe: { promptIds: [1], responseIds: [2, 3] },
    signal: new AbortController().signal,
    about: {},
    onState: async () => {},
    ...changes,
  });

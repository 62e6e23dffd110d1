import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { skyrlPython } from '../../../infra/skyrl/install.ts';
import { openCheckpoint } from '../../../shared/policy/checkpoints/checkpoint.ts';
import { openBackend } from '../../../shared/policy/executors/backend.ts';
import { createLora } from '../../../shared/policy/model/lora.ts';
import { loadPolicy } from '../../../shared/policy/model/policy.ts';
import { createAdamW, emptyAdamWState } from '../../../shared/policy/train/adamw.ts';
import { lossAndGradients } from '../../../shared/policy/train/training.ts';
import { openTrainingServer } from '../../../shared/tinker/open-training-server.ts';
import type { ServerSequence } from '../../../shared/tinker/training-server.ts';

/** One way to take the same steps: AdamW on the mean of -logProb over all answer tokens of a batch. */
export type Way = {
  readonly name: string;
  readonly isRemote: boolean;
  /** ms from the start to a model that can be trained */
  readonly openMs: number;
  /** ms of each step, and the gradient norm of the last */
  readonly steps: (
    count: number,
  ) => Promise<{ readonly ms: readonly number[]; readonly gradientNorm: number }>;
  /** ms to save the optimizer's state and the adapter. Ends it. */
  readonly close: () => Promise<number>;
};

export type Task = {
  /** folder of the model, and its name on the server */
  readonly model: string;
  readonly url: string;
  readonly rank: number;
  readonly learningRate: number;
  readonly sequences: readonly ServerSequence[];
};

const slopesOf = (sequences: readonly ServerSequence[]): readonly Float64Array[] => {
  const tokens = sequences.reduce((sum, { responseIds }) => sum + responseIds.length, 0);
  return sequences.map(({ responseIds }) => new Float64Array(responseIds.length).fill(-1 / tokens));
};

async function timed<Result>(work: () => Promise<Result> | Result): Promise<readonly [ms: number, Result]> {
  const start = performance.now();
  const result = await work();
  return [performance.now() - start, result];
}

async function repeat(count: number, step: () => Promise<number> | number) {
  const ms: number[] = [];
  let gradientNorm = Number.NaN;
  for (let taken = 0; taken < count; taken++) {
    const [took, norm] = await timed(step);
    ms.push(took);
    gradientNorm = norm;
  }
  return { ms, gradientNorm };
}

/** The engine in this process. */
export async function localWay(kind: 'wasm' | 'native', task: Task): Promise<Way> {
  const { sequences, rank, learningRate } = task;
  const [openMs, policy] = await timed(async () =>
    loadPolicy(await openCheckpoint(task.model), await openBackend(kind)),
  );
  const file = createLora(policy.config, { rank, alpha: 32, seed: 3 });
  const values = new Map([...file.tensors].map(([name, tensor]) => [name, tensor.values]));
  const [adamw, state] = [createAdamW({ learningRate }), emptyAdamWState()];
  const slopes = slopesOf(sequences);
  return {
    name: `local, ${kind}`,
    isRemote: false,
    openMs,
    steps: (count) =>
      repeat(count, () => {
        const adapter = policy.loadAdapter(file);
        const loss = () => ({ loss: 0, metrics: {}, gradient: slopes });
        const { gradients } = lossAndGradients(policy, adapter, sequences, { loss });
        adapter.dispose();
        return adamw.step(values, gradients, state).gradientNorm;
      }),
    close: async () => {
      policy.dispose();
      return 0;
    },
  };
}

/** The client of this repository. */
export async function clientWay(task: Task): Promise<Way> {
  const { sequences, rank, learningRate, url, model } = task;
  const server = openTrainingServer({ url, apiKey: 'tml-any', dialect: 'skyrl-jax', model });
  const [openMs, { session, trained }] = await timed(async () => {
    const session = await server.openSession({ bench: 'yes' }, new AbortController().signal);
    return { session, trained: await session.createModel({ rank, seed: 3 }) };
  });
  const adam = { learningRate, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0 };
  const sampled = slopesOf(sequences);
  return {
    name: "SkyRL, this repository's client",
    isRemote: true,
    openMs,
    steps: (count) =>
      repeat(count, async () => {
        const current = await trained.forward(sequences);
        await trained.addGradient(sequences, { sampled }, { current, sequencesUntilStep: sequences.length });
        return (await trained.optimizerStep({ ...adam, gradientClip: undefined })).gradientNorm!;
      }),
    close: async () => {
      const [ms] = await timed(async () => {
        await trained.saveState('our-state');
        await trained.downloadAdapter('our-adapter');
      });
      await session.close();
      await server.close();
      return ms;
    },
  };
}

type Answer = { readonly ms: readonly number[]; readonly gradientNorm: number };

/** The official Python client, in a separate process. */
export async function officialWay(task: Task): Promise<Way> {
  const script = fileURLToPath(new URL('./official_client.py', import.meta.url));
  const child: ChildProcessWithoutNullStreams = spawn(skyrlPython(), [script]);
  let said = '';
  child.stderr.on('data', (text: Buffer) => (said = `${said}${text}`.slice(-2_000)));
  child.stdin.on('error', () => {}); // `close` reports the reason
  const waiting: PromiseWithResolvers<Answer>[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.startsWith('{')) waiting.shift()?.resolve(JSON.parse(line) as Answer);
  });
  child.on('close', (code) => {
    for (const { reject } of waiting.splice(0))
      reject(new Error(`the official client ended with ${code}: ${said}`));
  });
  const ask = (question: object): Promise<Answer> => {
    const answer = Promise.withResolvers<Answer>();
    waiting.push(answer);
    child.stdin.write(`${JSON.stringify(question)}\n`);
    return answer.promise;
  };
  const { ms } = await ask(task);
  return {
    name: 'SkyRL, official Python client',
    isRemote: true,
    openMs: ms[0]!,
    steps: (steps) => ask({ steps }),
    close: async () => {
      const { ms: closing } = await ask({ close: true });
      child.stdin.end();
      return closing[0]!;
    },
  };
}

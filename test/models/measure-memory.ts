import { readFileSync } from 'node:fs';
import { localEngine } from '../../services/trainer/local-engine.ts';
import { localTraining } from '../../services/trainer/local-trainee.ts';
import { type StepParent, step } from '../../services/trainer/step.ts';
import { batchData, sampleData } from '../../services/trainer/testing/facts.ts';
import { openCheckpoint } from '../../shared/policy/checkpoints/checkpoint.ts';
import { createDecoder } from '../../shared/policy/decode/decoding.ts';
import { openBackend } from '../../shared/policy/executors/backend.ts';
import { createLora } from '../../shared/policy/model/lora.ts';
import { loadPolicy } from '../../shared/policy/model/policy.ts';
import { createAdamW, emptyAdamWState } from '../../shared/policy/train/adamw.ts';
import { lossAndGradients } from '../../shared/policy/train/training.ts';

/**
 * What one process takes at most, in bytes beyond the idle one, as JSON: while it answers a prompt, or while
 * it trains an adapter, or all weights, on a sample.
 * `measure-memory.ts BACKEND FOLDER serve|train|train-all TOKENS RESPONSE RANK`.
 */
const [backend, folder, work, ...numbers] = process.argv.slice(2);
const [tokens, responseTokens, rank] = numbers.map(Number) as [number, number, number];

const peak = (): number =>
  1024 * Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);

const executor = await openBackend(backend === 'wasm' ? 'wasm' : 'native');
const before = peak();
const policy = await loadPolicy(await openCheckpoint(folder!), executor);
const ids = Array.from({ length: tokens }, (_, index) => 1 + ((index * 7919) % 1000));

if (work === 'serve') {
  const decoder = createDecoder(policy, undefined, { maxSequences: 1, maxPositions: tokens + 8 });
  const { slot } = decoder.admit(ids);
  for (let step = 0; step < 4; step++) decoder.step([{ slot, id: 5 }]);
} else if (work === 'train-all') {
  const engine = localEngine(
    policy,
    () => [],
    () => Promise.reject(new Error('there is no other teacher')),
  );
  const [promptIds, responseIds] = [ids.slice(responseTokens), ids.slice(0, responseTokens)];
  const logProbs = responseIds.map(() => -5);
  const sample = sampleData('a', {
    tokens: { promptIds, responseIds, logProbs, effectiveTemperature: 1 },
  });
  const adapter = policy.copyWeights();
  const moments = () =>
    new Map([...adapter.tensors].map(([name, { values }]) => [name, values.map(() => 1e-3)]));
  const parent: StepParent = {
    adapter,
    optimizer: { step: 1, first: moments(), second: moments() },
    baseline: { value: 0, count: 1 },
  };
  const batch = batchData(2, [sample], { training: 'full', learningRate: 1e-6 });
  const result = await step(localTraining(engine), { parent, batch, samples: [sample], ownsParent: true });
  if (result.kind !== 'candidate') throw new Error(result.detail);
} else {
  const file = createLora(policy.config, { rank, alpha: 2 * rank, seed: 1 });
  const adamw = createAdamW({ learningRate: 1e-4 });
  const state = emptyAdamWState();
  const parameters = new Map([...file.tensors].map(([name, { values }]) => [name, values]));
  const sample = { promptIds: ids.slice(responseTokens), responseIds: ids.slice(0, responseTokens) };
  for (let step = 0; step < 2; step++) {
    const adapter = policy.loadAdapter(file);
    const { gradients } = lossAndGradients(policy, adapter, [sample], {
      loss: (logProbs) => ({
        loss: 0,
        metrics: {},
        gradient: logProbs.map((values) => values.map(() => -1 / responseTokens)),
      }),
    });
    adamw.step(parameters, gradients, state);
    adapter.dispose();
  }
}
process.stdout.write(JSON.stringify({ taken: peak() - before }));

// node policy-process.ts graph|eager|wasm THREADS: our implementation, in a separate process. Takes the orders of
// policy-case.ts.
import { createInterface } from 'node:readline';
import { openCheckpoint } from '../../shared/policy/checkpoints/checkpoint.ts';
import { createDecoder } from '../../shared/policy/decode/decoding.ts';
import { openBackend } from '../../shared/policy/executors/backend.ts';
import { createLora } from '../../shared/policy/model/lora.ts';
import { loadPolicy, type Policy, type WeightSource } from '../../shared/policy/model/policy.ts';
import { createAdamW, emptyAdamWState } from '../../shared/policy/train/adamw.ts';
import { crossEntropyAndGradients } from '../../shared/policy/train/pretraining.ts';
import type { Ask, PolicyCase, Times } from './policy-case.ts';

const [mode, threads] = process.argv.slice(2);

const tokens = (length: number, vocabulary: number): number[] =>
  Array.from({ length }, (_, i) => (i * 7919) % vocabulary);

function trainer(
  policy: Policy,
  source: WeightSource,
  { trains, batch, positions }: Extract<PolicyCase, { kind: 'train' }>,
): () => void {
  const adamw = createAdamW({ learningRate: 1e-4, weightDecay: 0.01, maxGradientNorm: 1 });
  const state = emptyAdamWState();
  const ids = Int32Array.from(tokens(batch * (positions + 1), policy.config.vocabularySize));
  const part = { tokens: ids, batch, positions };
  if (trains === 'full') {
    const weights = new Map(source.names.map((name) => [name, source.float32(name).slice()]));
    return () => {
      adamw.step(weights, crossEntropyAndGradients(policy, part).gradients, state);
      policy.replaceWeights(weights);
    };
  }
  const file = createLora(policy.config, { rank: 16, alpha: 32, seed: 1 });
  const values = new Map([...file.tensors].map(([name, tensor]) => [name, tensor.values]));
  return () => {
    const adapter = policy.loadAdapter(file);
    adamw.step(values, crossEntropyAndGradients(policy, part, adapter).gradients, state);
    adapter.dispose();
  };
}

function argmax(values: Float32Array): number {
  let best = 0;
  for (let id = 1; id < values.length; id++) if (values[id]! > values[best]!) best = id;
  return best;
}

function decoderOf(
  policy: Policy,
  { sequences, context }: Extract<PolicyCase, { kind: 'decode' }>,
): () => void {
  const decoder = createDecoder(policy, undefined, { maxSequences: sequences, maxPositions: 2 * context });
  const next = Array.from({ length: sequences }, () => ({
    slot: decoder.admit(tokens(context, policy.config.vocabularySize)).slot,
    id: 7,
  }));
  return () => {
    decoder.step(next).forEach((logits, index) => {
      next[index]!.id = argmax(logits);
    });
  };
}

function reader(policy: Policy, { tokens: length }: Extract<PolicyCase, { kind: 'prefill' }>): () => void {
  const decoder = createDecoder(policy, undefined, { maxSequences: 1, maxPositions: length });
  const ids = tokens(length, policy.config.vocabularySize);
  return () => {
    const { slot, logits } = decoder.admit(ids);
    argmax(logits);
    decoder.release(slot);
  };
}

async function prepare({ folder, case: measured }: Ask): Promise<() => void> {
  const executor = await openBackend(mode === 'wasm' ? 'wasm' : 'native', { threads: Number(threads) });
  const source = await openCheckpoint(folder);
  const policy = await loadPolicy(
    source,
    mode === 'eager' && executor.kind === 'native' ? { ...executor, graphs: undefined } : executor,
  );
  if (measured.kind === 'train') return trainer(policy, source, measured);
  return measured.kind === 'decode' ? decoderOf(policy, measured) : reader(policy, measured);
}

let step: (() => void) | undefined;
for await (const line of createInterface({ input: process.stdin })) {
  const ask = JSON.parse(line) as Ask;
  step ??= await prepare(ask);
  const milliseconds: number[] = [];
  const processor: number[] = [];
  for (let i = 0; i < ask.steps; i++) {
    const [start, before] = [performance.now(), process.cpuUsage()];
    step();
    const { user, system } = process.cpuUsage(before);
    milliseconds.push(performance.now() - start);
    processor.push((user + system) / 1000);
  }
  const times: Times = { milliseconds, processor, peakBytes: process.resourceUsage().maxRSS * 1024 };
  console.log(JSON.stringify(times));
}

import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { RemoteModel } from '../../shared/tinker/training-server.ts';
import { adam, describeWithSkyrl, sequencesOf, skyrlForSuite, worst } from './skyrl-for-suite.ts';

// npm run test:nightly -- test/skyrl/client.nightly.test.ts
// The client of the Tinker API against the real SkyRL, which computes a tiny model on the CPU.

const ADAPTERS = 3;
const sequences = sequencesOf([
  [24, 16],
  [11, 9],
]);
const signal = new AbortController().signal;
const downhill = (rows: readonly Float32Array[]) => ({ sampled: rows.map((row) => row.map(() => -0.05)) });

/** Adds the gradient of the sequences' log-likelihood, and takes a step. */
async function learn(model: RemoteModel): Promise<number> {
  const current = await model.forward(sequences);
  await model.addGradient(sequences, downhill(current), { current, sequencesUntilStep: sequences.length });
  return (await model.optimizerStep(adam)).gradientNorm!;
}

describeWithSkyrl('the client of a training server, with SkyRL', () => {
  const on = skyrlForSuite('qwen3-tiny', { adapters: ADAPTERS });

  test('the server is there and trains the model; another model is refused with the list', async () => {
    expect((await on.open().check(signal)).models).toEqual([on.model]);
    await expect(on.open('skyrl-jax', { model: 'another' }).check(signal)).rejects.toMatchObject({
      code: 'unknown_model',
      message: expect.stringContaining(on.model),
    });
  });

  test('a model learns, and its saved state is the same model with the same optimizer', async () => {
    const session = await on.session();
    const model = await session.createModel({ rank: 8, seed: 3 });
    const before = await model.forward(sequences);
    expect(await learn(model)).toBeGreaterThan(0);
    const after = await model.forward(sequences);
    expect(worst(before, after)).toBeGreaterThan(1e-3);
    const state = await model.saveState('after-one');
    const again = await session.createModel({ rank: 8, seed: 4 });
    await again.loadState(state.path);
    expect(worst(await again.forward(sequences), after)).toBeLessThan(1e-5);
    // the second step depends on the moments of the first
    await learn(model);
    await learn(again);
    expect(worst(await again.forward(sequences), await model.forward(sequences))).toBeLessThan(1e-5);
  });

  test('the adapter comes over HTTP with all seven projections, and does not stay on the server', async () => {
    const model = await (await on.session()).createModel({ rank: 4, seed: 3 });
    await learn(model);
    const files = await model.downloadAdapter('first');
    expect([...files.keys()].sort()).toEqual(['adapter_config.json', 'adapter_model.safetensors']);
    expect(JSON.parse(Buffer.from(files.get('adapter_config.json')!).toString())).toMatchObject({
      r: 4,
      lora_alpha: 32,
    });
    const names = await readdir(`${on.server.checkpoints}/${model.id}/sampler_weights`);
    expect(names.filter((name) => name.endsWith('.tar.gz'))).toEqual([]);
  });

  test('a state is saved once per name, and a removed state is missing', async () => {
    const server = on.open();
    const session = await on.session(server);
    const model = await session.createModel({ rank: 8, seed: 3 });
    const state = await model.saveState('once');
    expect(await model.saveState('once')).toEqual(state);
    await server.removeState(state.path, signal);
    await server.removeState(state.path, signal);
    const other = await session.createModel({ rank: 8, seed: 3 });
    await expect(other.loadState(state.path)).rejects.toMatchObject({ code: 'state_missing' });
  });

  test('a numbered request that comes twice is applied once; other content under its number is refused', async () => {
    const session = await on.session();
    const post = async (path: string, body: object) => {
      const answer = await fetch(`${on.server.url}/api/v1/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status: answer.status, body: (await answer.json()) as Readonly<Record<string, unknown>> };
    };
    const model = await session.createModel({ rank: 8, seed: 3 });
    const step = (rate: number) => ({
      model_id: model.id,
      seq_id: 1,
      adam_params: { learning_rate: rate, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0 },
      type: 'optim_step',
    });
    const first = await post('optim_step', step(1e-3));
    expect((await post('optim_step', step(1e-3))).body).toEqual(first.body);
    expect(await post('optim_step', step(2e-3))).toMatchObject({ status: 409 });
    await expect(model.optimizerStep({ ...adam, learningRate: 5e-3 })).rejects.toMatchObject({
      code: 'sequence_reused',
    });
  });

  test('a gradient that is not finite ends the model', async () => {
    const model = await (await on.session()).createModel({ rank: 8, seed: 3 });
    const current = await model.forward(sequences);
    const context = { current, sequencesUntilStep: sequences.length };
    await model.addGradient(sequences, { sampled: current.map((row) => row.map(() => 1e37)) }, context);
    await expect(model.optimizerStep(adam)).rejects.toMatchObject({ code: 'not_finite' });
    await expect(model.forward(sequences)).rejects.toMatchObject({ code: 'not_finite' });
  });

  test('a step with weight decay changes another model, which is why it is refused at start', async () => {
    const session = await on.session();
    const [one, other] = [
      await session.createModel({ rank: 8, seed: 3 }),
      await session.createModel({ rank: 8, seed: 4 }),
    ];
    await learn(one);
    const before = await one.forward(sequences);
    await learn(other);
    expect(await one.forward(sequences)).toEqual(before);
    await other.optimizerStep({ ...adam, learningRate: 1e-2, weightDecay: 30 });
    expect(await one.forward(sequences)).not.toEqual(before);
  });

  test('a gradient that an unloaded model leaves behind does not reach the next model', async () => {
    const session = await on.session();
    const clean = await session.createModel({ rank: 8, seed: 3 });
    const norm = await learn(clean);
    await clean.unload();
    const left = await session.createModel({ rank: 8, seed: 3 });
    const current = await left.forward(sequences);
    const slopes = { sampled: current.map((row) => row.map(() => 1)) };
    await left.addGradient(sequences, slopes, { current, sequencesUntilStep: sequences.length });
    await left.unload();
    const next = await session.createModel({ rank: 8, seed: 3 });
    expect(await learn(next)).toBeCloseTo(norm, 4);
  });

  test('what the server cannot do is refused by name, before it is sent', async () => {
    const model = await (await on.session()).createModel({ rank: 8, seed: 3 });
    await expect(model.optimizerStep({ ...adam, gradientClip: 1 })).rejects.toMatchObject({
      code: 'not_on_this_server',
    });
    await expect(model.topTokens(sequences, 4)).rejects.toMatchObject({ code: 'not_on_this_server' });
  });

  test('one model too many is refused, and a closed session makes room', async () => {
    const session = await on.session();
    for (let seed = 1; seed <= ADAPTERS; seed++) await session.createModel({ rank: 8, seed });
    await expect(session.createModel({ rank: 8, seed: 9 })).rejects.toMatchObject({
      code: 'too_many_adapters',
    });
    await session.close();
    const next = await on.session();
    expect((await next.createModel({ rank: 8, seed: 9 })).id).toMatch(/^model_/);
  });

  test('a rank beyond the server is refused with its reason', async () => {
    const session = await on.session();
    await expect(session.createModel({ rank: 64, seed: 1 })).rejects.toMatchObject({
      message: expect.stringMatching(/rank 64/i),
    });
  });

  test('after a crash the models are gone, and a fresh one goes on from the saved state', async () => {
    const session = await on.session();
    const model = await session.createModel({ rank: 8, seed: 3 });
    await learn(model);
    const state = await model.saveState('before-the-crash');
    await learn(model);
    const undisturbed = await model.forward(sequences);
    await on.server.kill('engine');
    await on.server.start();
    await expect(model.forward(sequences)).rejects.toMatchObject({ code: 'model_not_loaded' });
    const again = await (await on.session()).createModel({ rank: 8, seed: 9 });
    await again.loadState(state.path);
    await learn(again);
    expect(worst(await again.forward(sequences), undisturbed)).toBeLessThan(1e-5);
  });
});

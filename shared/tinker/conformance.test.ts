import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type TinkerFake, type TinkerFakeOptions, tinkerFake } from '../../test/tinker-fakes/tinker-fake.ts';
import { readAdapter } from '../policy/checkpoints/adapter-files.ts';
import { gradientNorm } from '../policy/train/adamw.ts';
import { scoreResponses } from '../policy/train/scoring.ts';
import { lossAndGradients } from '../policy/train/training.ts';
import { type ConformanceReference, checkConformance } from './conformance.ts';
import { openTrainingServer } from './open-training-server.ts';
import type { DialectName } from './training-server.ts';

const open: TinkerFake[] = [];
afterEach(async () => {
  for (const fake of open.splice(0)) await fake.stop();
});

async function check(
  options: TinkerFakeOptions,
  dialect: DialectName,
  reference: (fake: TinkerFake) => ConformanceReference = () => ({}),
) {
  const fake = await tinkerFake(options);
  open.push(fake);
  const server = openTrainingServer({ url: fake.url, apiKey: 'tml-test', dialect, model: 'tiny' });
  const settings = { vocabularySize: 1216, rank: 4, reference: reference(fake) };
  try {
    return await checkConformance(server, settings, new AbortController().signal);
  } finally {
    expect(fake.models().length).toBe(0);
    await server.close();
  }
}

test.each(['tinker', 'fireworks', 'skyrl-jax', 'skyrl-train', 'open-rl'] as const)(
  'a %s server conforms to its own dialect',
  async (dialect) => {
    const { gradientNorm } = await check({ dialect }, dialect);
    if (dialect === 'fireworks') expect(gradientNorm).toBeUndefined();
    else expect(gradientNorm).toBeGreaterThan(0);
  },
);

test.each([
  // the server averages, and the dialect says that it adds up, with either surrogate
  ['skyrl-jax', 'open-rl', {}],
  ['skyrl-jax', 'skyrl-train', {}],
  // the server adds up, and the dialect says that it averages
  ['skyrl-train', 'skyrl-jax', {}],
  // a server without norms that averages
  ['fireworks', 'fireworks', { reduction: 'mean' }],
  // all its gradients and norms are twice as large
  ['open-rl', 'open-rl', { scale: 2 }],
] as const)('a %s server is refused as dialect %s', async (kind, dialect, traits) => {
  const refused = { code: 'wrong_gradient', message: expect.stringContaining('--training-dialect') };
  await expect(
    check({ dialect: kind, traits: { hasForward: true, ...traits } }, dialect),
  ).rejects.toMatchObject(refused);
});

/** The gradient of this repository's own engine, at the adapter that the server has created. */
const own = ({ policy }: TinkerFake, factor = 1): ConformanceReference => ({
  score: (sequences) => scoreResponses(policy, undefined, sequences),
  gradientNorm: async (files, sequences, slopes) => {
    const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
    for (const [name, bytes] of files) await writeFile(join(folder, name), bytes);
    const adapter = policy.loadAdapter(await readAdapter(folder));
    await rm(folder, { recursive: true });
    const loss = () => ({ loss: 0, metrics: {}, gradient: slopes });
    const { gradients } = lossAndGradients(policy, adapter, sequences, { loss });
    adapter.dispose();
    return factor * gradientNorm(gradients);
  },
});

test('the gradient and the log-probs agree with those of the own engine', async () => {
  const { logProbs } = await check({}, 'skyrl-jax', own);
  expect(logProbs).toBeLessThan(1e-5);
});

test('another gradient, and another base model, are refused', async () => {
  await expect(check({}, 'skyrl-jax', (fake) => own(fake, 1.5))).rejects.toThrow(/and here/);
  const shifted: ConformanceReference = {
    score: (all) => all.map(({ responseIds }) => responseIds.map(() => -1)),
  };
  await expect(check({}, 'skyrl-jax', () => shifted)).rejects.toThrow(/another model/);
});

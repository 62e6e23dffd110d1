import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { TrainingSettings } from '../../shared/events/training-settings.ts';
import { clawloop, freePort } from '../e2e/harness/clawloop.ts';
import { openTrainerFolder } from '../e2e/trainer-process.ts';
import { serverSettings } from '../e2e/trainer-with-server.ts';
import { describeWithSkyrl, sequencesOf, skyrlForSuite } from './skyrl-for-suite.ts';

// npm run test:nightly -- test/skyrl/several-targets.nightly.test.ts
// topk and overlap compare several tokens per position. SkyRL on JAX takes one, so both are refused by name.

describeWithSkyrl('several tokens per position, with SkyRL', () => {
  const on = skyrlForSuite('qwen3-tiny', { adapters: 4 });
  const engine = () => [
    ...['--training-engine', 'tinker', '--training-url', on.server.url],
    ...['--training-model', on.model],
  ];

  describe.each(['topk', 'overlap'] as const)('distillation %s', (distillation) => {
    const refusal = new RegExp(
      `a skyrl-jax server takes one token per position, so distillation ${distillation} is impossible; set --collector-distillation sampled`,
    );

    test('is refused at start', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'clawloop-loop-'));
      onTestFinished(() => rm(folder, { recursive: true }));
      const flags = [...engine(), '--model', on.model, '--collector-distillation', distillation];
      const ports = ['port', 'collector-health-port', 'judge-health-port', 'trainer-health-port'];
      for (const name of ports) flags.push(`--${name}`, String(await freePort()));
      const { code, stdout, stderr } = await clawloop([
        'up',
        '--data-folder',
        folder,
        '--no-console',
        ...flags,
      ]);
      expect(code).toBe(2);
      expect(stderr + stdout).toMatch(refusal);
    });

    test('ends a batch that was opened before, and the next batch is trained', async () => {
      const folder = await openTrainerFolder(on.model);
      onTestFinished(folder.dispose);
      const trainer = folder.start(engine());
      const settings: Partial<TrainingSettings> = { ...serverSettings, method: 'opd', distillation };
      await folder.submit(1, { settings });
      expect(await folder.settled(1)).toMatchObject({ head: 0 });
      const failed = folder.events().find(({ type }) => type === 'policy.update-failed');
      expect(failed?.data).toMatchObject({
        reason: 'training-changed',
        detail: expect.stringMatching(refusal),
      });
      await folder.submit(2, { settings: serverSettings });
      expect(await folder.settled(2)).toMatchObject({ head: 2 });
      expect(await trainer.end('SIGTERM')).toBe(0);
    });
  });

  // In the dialect of a server that takes several targets, the client sends them.
  test('SkyRL itself scores one token per position and names no likely tokens', async () => {
    const session = await on.session(on.open('tinker'));
    const model = await session.createModel({ rank: 8, seed: 3 });
    const sequences = sequencesOf([[4, 3]]);
    const candidates = { count: 2, ids: [Int32Array.from([1, 2, 3, 4, 5, 6])] };
    // three targets at each of six positions
    await expect(model.forwardCandidates(sequences, candidates)).rejects.toMatchObject({
      code: 'bad_answer',
      message: expect.stringContaining('6 log-probs, not 18'),
    });
    await expect(model.topTokens(sequences, 3)).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringContaining('topk_prompt_logprobs is not supported by the JAX backend'),
    });
  });
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nativeInstalled } from '../../shared/policy/executors/native.ts';
import { makeTalkingModel } from './large-model.ts';
import { runSoak } from './run-soak.ts';

const STEPS = 10;

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-135m-'));
  await makeTalkingModel(folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test.runIf(nativeInstalled() || process.env.CLAWLOOP_REQUIRE_ALL === '1')(
  'a model of 135 million weights is chatted with, judged and trained ten times',
  async () => {
    const { readings, ...report } = await runSoak({
      requests: 40,
      steps: STEPS,
      people: 2,
      maxTokens: 160,
      perRound: 8,
      flags: ['--model', folder, '--backend', 'native', '--collector-batch-size', '4'],
      print: (line) => console.log(line),
    });
    const seconds = report.steps.map(({ milliseconds }) => milliseconds / 1000);
    const tokens = report.steps.reduce((sum, { metrics }) => sum + (metrics.tokens ?? 0), 0);
    const hints = report.steps.reduce((sum, { metrics }) => sum + (metrics.hintsUsed ?? 0), 0);
    console.log(
      `${report.requests} requests, ${report.failures.length} failed; ${report.promoted} steps served, ` +
        `${tokens} tokens in ${seconds.reduce((a, b) => a + b, 0).toFixed(0)} s of training, ` +
        `the first ${seconds[0]?.toFixed(1)} s, the last ${seconds.at(-1)?.toFixed(1)} s; ${hints} hints; ` +
        `${report.seconds.toFixed(0)} s in all; peak MiB ${JSON.stringify(report.peak)}`,
    );
    expect(report.failures).toEqual([]);
    expect(report.audit).toBe('balances');
    expect(report.servedVersion).toBeGreaterThanOrEqual(STEPS);
    expect(report.versions.length).toBeGreaterThan(2); // answers came from several of them, while they rose
    expect(report.steps.map(({ method }) => method)).toEqual(report.steps.map(() => 'combine'));
    expect(hints).toBeGreaterThan(0);
    const late = readings.slice(1).map(({ tensors }) => tensors);
    expect(new Set(late.map(({ trainer }) => trainer)).size).toBe(1);
  },
);

import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { environmentOf, pythonPackages } from '../../conformance/python-packages.ts';
import { startWandbServer } from './wandb-server.ts';
import { writeStory } from './write-story.ts';

const requirements = fileURLToPath(new URL('./requirements-wandb.txt', import.meta.url));
const python = await pythonPackages(requirements, ['wandb']);
const ROUNDS = 60;

describe.skipIf(python.missing !== undefined)(`Weights & Biases ${python.missing ?? ''}`, () => {
  test("W&B's own program uploads every step, also from a file of several blocks", async () => {
    const { into, remove } = await writeStory('wandb', ROUNDS);
    onTestFinished(remove);
    const server = await startWandbServer();
    onTestFinished(server.close);
    const [run] = await readdir(into);
    await promisify(execFile)('python3', ['-m', 'wandb', 'sync', join(into, run!)], {
      cwd: into,
      env: {
        ...environmentOf(python),
        HOME: into,
        WANDB_BASE_URL: server.url,
        WANDB_API_KEY: 'a'.repeat(40),
        WANDB_ERROR_REPORTING: 'false',
      },
    });
    const { history, created, complete } = server.uploaded;
    expect(complete()).toBe(true);
    expect(created[0]).toMatchObject({ project: 'clawloop', displayName: 'default' });
    expect(JSON.parse(created[0]!.config as string)).toMatchObject({ method: { value: 'combine' } });
    const rows = [...history].sort(([a], [b]) => a - b).map(([, row]) => row);
    expect(rows.map(({ _step }) => _step)).toEqual(
      Array.from({ length: 3 * ROUNDS }, (_, index) => index + 1),
    );
    expect(rows[0]).toMatchObject({
      'step/loss': 0.5,
      'gate/promoted': 1,
      'batch/good_share': 2 / 3,
      _runtime: 30,
    });
    expect(rows[1]).toMatchObject({ 'gate/promoted': 0, 'gate/contentLoss': 0.75 });
  });
});

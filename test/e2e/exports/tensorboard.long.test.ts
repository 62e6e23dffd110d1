import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { environmentOf, pythonPackages } from '../../conformance/python-packages.ts';
import { STORY_START } from './training-story.ts';
import { writeStory } from './write-story.ts';

const beside = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const python = await pythonPackages(beside('./requirements-tensorboard.txt'), ['tensorboard']);

describe.skipIf(python.missing !== undefined)(`TensorBoard ${python.missing ?? ''}`, () => {
  test('TensorBoard reads every step, time and figure', async () => {
    const { into, remove } = await writeStory('tensorboard');
    onTestFinished(remove);
    const out = execFileSync('python3', [beside('./read_events.py'), join(into, 'default')], {
      env: environmentOf(python),
    });
    const scalars = JSON.parse(out.toString()) as Readonly<Record<string, readonly (readonly number[])[]>>;
    const at = (step: number) => (STORY_START + (step + 0.5) * 60_000) / 1000;
    expect(scalars['step/loss']).toEqual([
      [1, at(1), 0.5],
      [2, at(2), 0.25],
    ]);
    expect(scalars['gate/promoted']).toEqual([
      [1, at(1), 1],
      [2, at(2), 0],
      [3, at(3), 0],
    ]);
    expect(scalars['gate/contentLoss']).toEqual([[2, at(2), 0.75]]);
    expect(scalars['batch/good_share']!.map(([, , value]) => value!.toFixed(4))).toEqual([
      '0.6667',
      '0.6667',
      '0.6667',
    ]);
    expect(Object.keys(scalars)).toHaveLength(10);
  });
});

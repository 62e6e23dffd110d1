import { expect, test } from 'vitest';
import { observedHash } from '../../shared/chat/observed.ts';
import type { SessionStep } from '../api-client.ts';
import { compareSteps, type StepSettings, type StepsOfAttempt } from './compare-steps.ts';

/** A chain of steps: score and observed text of each. */
const chain = (name: string, reward: number, ...steps: readonly (readonly [number | null, string?])[]) =>
  steps.map(
    ([score, text = 'go on'], index): SessionStep => ({
      interaction: `${name}${index}`,
      continues: index === 0 ? null : `${name}${index - 1}`,
      observed: [observedHash(text)],
      reward: index === steps.length - 1 ? reward : null,
      votes: score === null ? 'missing' : 'complete',
      score,
    }),
  );
const attempt = (
  name: string,
  [reward, advantage]: readonly [number, number],
  ...steps: Parameters<typeof chain> extends [string, number, ...infer Steps] ? Steps : never
): StepsOfAttempt => ({ reward, advantage, steps: chain(name, reward, ...steps), states: [] });

const settings = (more: Partial<StepSettings>): StepSettings => ({
  process: 0,
  processBaseline: 'attempt',
  anchors: 0,
  ...more,
});

test('a step is compared with all attempts; an unknown score does not count', () => {
  const compared = compareSteps(
    [attempt('a', [1, 1], [1], [null], [0]), attempt('b', [-1, -1], [-0.5])],
    settings({ process: 0.3 }),
  );
  const process = { baseline: 0, scale: 1 };
  expect(compared).toEqual([
    {
      advantage: 1,
      steps: [
        { interaction: 'a0', advantage: undefined, process },
        { interaction: 'a1', advantage: undefined, process: undefined },
        { interaction: 'a2', advantage: undefined, process },
      ],
    },
    { advantage: -1, steps: [{ interaction: 'b0', advantage: undefined, process }] },
  ]);
});

test('by index, the outcome belongs to each step, and nothing goes up the tree', () => {
  const [first, second] = compareSteps(
    [attempt('a', [1, 1], [1], [1]), attempt('b', [-1, -1], [-1])],
    settings({ process: 0.5, processBaseline: 'index' }),
  );
  const { advantage, process } = first!.steps[0]!;
  expect([first!.advantage, second!.advantage]).toEqual([0, 0]);
  expect(advantage! + (0.5 * (1 - process!.baseline)) / process!.scale).toBeCloseTo(1, 5);
  expect(first!.steps[1]).toEqual({ interaction: 'a1', advantage: 0, process: undefined });
});

test('where attempts met, their returns from there are compared, without a judge', () => {
  const [first, second] = compareSteps(
    [
      attempt('a', [1, 1], [0, 'a door'], [0, 'a key'], [0, 'a door']),
      attempt('b', [-1, -1], [0, 'a door'], [0, 'a wall']),
    ],
    settings({ anchors: 0.5 }),
  );
  const expected = 1 / 3;
  expect(first!.steps.map((step) => step.advantage)).toEqual([0.5 * (1 - expected), 0, 0.5 * (1 - expected)]);
  expect(second!.steps.map((step) => step.advantage)).toEqual([0.5 * (-1 - expected), 0]);
  expect(first!.steps.every(({ process }) => process === undefined)).toBe(true);
});

test('an environment names its states, also where their texts are equal', () => {
  const ok = observedHash('ok');
  const named = (name: string, reward: number, ...keys: readonly string[]) => ({
    ...attempt(name, [reward, reward], [0, 'start'], ...keys.map(() => [0, 'ok'] as const)),
    states: keys.map((stateKey) => ({ hash: ok, stateKey })),
  });
  const [first, second] = compareSteps(
    [named('a', 1, 'kitchen', 'hall'), named('b', -1, 'hall', 'cellar')],
    settings({ anchors: 1 }),
  );
  expect(first!.steps.map(({ advantage }) => advantage)).toEqual([1, 0, 1]);
  expect(second!.steps.map(({ advantage }) => advantage)).toEqual([-1, -1, 0]);
});

test('an attempt whose steps are unknown is left out', () => {
  const unknown = { ...attempt('b', [-1, -1], [0]), steps: undefined };
  const compared = compareSteps([attempt('a', [1, 1], [1]), unknown], settings({ process: 1, anchors: 1 }));
  expect(compared[0]!.steps).toEqual([
    { interaction: 'a0', advantage: 0, process: { baseline: 1, scale: 1 } },
  ]);
  expect(compared[1]!).toEqual({ advantage: -1, steps: [] });
});

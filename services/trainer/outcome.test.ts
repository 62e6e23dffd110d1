import { expect, test } from 'vitest';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import { type BoundState, type Outcome, outcomeEvents, outcomeName } from './outcome.ts';

const batch = { batchId: 'default/batch/3', adapter: 'default' };
const { settings } = defaultTrainingSettings('claw-nano');

function outcome(given: Partial<BoundState>): Outcome {
  const state = {
    version: 3,
    parent: 2,
    digest: 'd',
    metrics: {},
    gate: { passed: true },
    settings,
    ...given,
  };
  return { kind: 'trained', checkpoint: 'c', state: state as unknown as BoundState };
}
const events = (given: Partial<BoundState>) => outcomeEvents(batch, outcome(given), '2026-01-01T00:00:00Z');
const shared = { settings: { ...settings, canaryShare: 0.1 } };

test('a candidate that passed the gate is promoted, or starts a canary if its batch says so', () => {
  expect(events({}).map(({ id }) => id)).toEqual(['default/batch/3/trained', 'default/batch/3/promoted']);
  const [, canary] = events(shared);
  expect(canary).toMatchObject({
    id: 'default/batch/3/canary',
    type: 'policy.canary-started',
    data: { ...batch, from: 2, to: 3, checkpoint: 'c', digest: 'd', share: 0.1 },
  });
  expect([outcomeName(outcome({})), outcomeName(outcome(shared))]).toEqual(['promoted', 'canary']);
});

test('a candidate that the gate refused is rejected in any case', () => {
  const gate = { passed: false, reason: 'collapse', detail: '' } as const;
  expect(events({ ...shared, gate })[1]).toMatchObject({
    type: 'policy.rejected',
    data: { reason: 'collapse' },
  });
});

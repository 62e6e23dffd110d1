import { expect, test } from 'vitest';
import { BatchSubmitted } from '../../../shared/events/batch-submitted.ts';
import { JudgmentReached } from '../../../shared/events/judgment-reached.ts';
import { PolicyRejected } from '../../../shared/events/policy-rejected.ts';
import { defaultTrainingSettings } from '../../../shared/policy/train/training-defaults.ts';
import { createStatus, formatStatus } from './status.ts';
import { stepProgressOf } from './step-progress.ts';

const adapter = 'default';
const said = (id: string) => ({ id, source: 'clawloop/test', time: '2026-01-01T00:00:00Z' });
const submitted = (batchId: string, n: number) =>
  BatchSubmitted.create({
    ...said(batchId),
    data: {
      batchId,
      adapter,
      n,
      parent: 0,
      size: 4,
      maxStaleness: 4,
      samples: [],
      seed: n,
      settings: defaultTrainingSettings('claw-nano').settings,
    },
  });
const line = (batch: string, phase = 'training') =>
  JSON.stringify({
    level: 30,
    service: 'trainer',
    batch,
    phase,
    samples: 3,
    of: 4,
    secondsLeft: 20,
    msg: 'step',
  });

test('the live line shows the progress of the running step only', () => {
  const status = createStatus([adapter]);
  const shown = () => formatStatus(status.status(), 4).split('  |  ')[1];
  expect(shown()).toBe('0 of 4 samples until the next step');
  status.on(submitted('b1', 1));
  expect(shown()).toBe('a step is running');
  status.onStep(stepProgressOf(line('b1'))!);
  expect(shown()).toBe('a step is running: training 3 of 4, 20 s left');
  status.onStep(stepProgressOf(line('b1', 'gate'))!);
  expect(shown()).toBe('a step is running: the gate checks the candidate');
  status.on(
    PolicyRejected.create({
      ...said('b1/rejected'),
      data: { batchId: 'b1', adapter, reason: 'not-finite', detail: '' },
    }),
  );
  expect(shown()).toBe('0 of 4 samples until the next step');
  status.on(submitted('b2', 2));
  expect(shown()).toBe('a step is running');
});

test('with several adapters the live line names each version and the next step', () => {
  const status = createStatus(['alice', adapter]);
  const shown = () => formatStatus(status.status(), 4).split('  |  ');
  expect([shown()[0], shown()[1]]).toEqual([
    'serving alice v0, default v0',
    '0 of 4 samples until the next step of alice',
  ]);
  status.on(submitted('b1', 1));
  expect(shown()[1]).toBe('a step of default is running');
});

test('other log lines are not taken for progress', () => {
  for (const text of [
    '',
    'a step',
    '{"msg":"step"',
    '{"msg":"step","phase":"training"}',
    '{"msg":"training"}',
  ])
    expect(stepProgressOf(text)).toBeUndefined();
});

test('neutral verdicts are counted too', () => {
  const status = createStatus([adapter]);
  const shown = () => formatStatus(status.status(), 4).split('  |  ')[4];
  const judged = (turnId: string, score: number | null) =>
    JudgmentReached.create({
      ...said(`${turnId}/judgment`),
      data: { turnId, lane: 'l', score, mean: 0, votes: [], needs: 1, hints: [], source: 'votes', by: 'b' },
    });
  for (const [index, score] of [1, 1, -1, -0.25].entries()) status.on(judged(`t${index}`, score));
  expect(shown()).toBe('4 verdicts (2 good, 2 bad)');
  for (const [index, score] of [0, 0, 0, null].entries()) status.on(judged(`n${index}`, score));
  expect(shown()).toBe('8 verdicts (2 good, 2 bad, 3 neither, 1 not judged)');
});

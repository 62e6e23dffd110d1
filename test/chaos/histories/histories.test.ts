import { expect, test } from 'vitest';
import { hasCarriedId } from '../../../shared/events/sample-id.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { isCanaryDecision } from './laws/canary.ts';
import { readHistory } from './laws/history.ts';
import { type Mutation, mutations } from './mutations.ts';
import { runHistory } from './run-history.ts';

test.each(Array.from({ length: 12 }, (_, i) => i + 1))('all laws hold in the history of seed %i', (seed) => {
  expect(runHistory(seed).broken).toEqual([]);
});

/** An answer is deleted; the head goes back, by an operator, by verdicts, and to a version whose batch trains again. */
const SELDOM = [13, 15, 17, 82, 157];

test('the histories contain every kind of outcome', () => {
  const seen = new Set<string>();
  for (const seed of [...Array.from({ length: 12 }, (_, i) => i + 1), ...SELDOM]) {
    const { of } = readHistory(runHistory(seed).world);
    for (const { data } of of('turn.skipped')) seen.add(data.reason);
    for (const { data } of of('sample.dropped')) seen.add(data.reason);
    for (const { data } of of('judgment.reached')) seen.add(data.source);
    for (const { data } of of('sample.ready')) seen.add(data.soft ? 'soft' : 'firm');
    for (const { data } of of('sample.ready'))
      if (data.carried !== undefined) seen.add(hasCarriedId(data.sampleId) ? 'carried again' : 'carried');
    for (const { data } of of('turn.completed')) seen.add(`session by ${data.sessionBy}`);
    for (const { data } of of('policy.rolled-back')) seen.add(`rolled back: ${data.cause ?? 'operator'}`);
    for (const event of [...of('policy.promoted'), ...of('policy.rejected')])
      if (isCanaryDecision(event)) seen.add(`after its canary: ${event.type}`);
    const tried = new Set(of('policy.canary-started').map(({ subject, data }) => `${subject} ${data.to}`));
    for (const { data } of of('turn.completed'))
      if (tried.has(`${data.adapter} ${data.version}`)) seen.add('a turn of a candidate');
    for (const { data } of of('batch.submitted')) if (data.again !== undefined) seen.add('trained again');
    for (const type of [
      'lane.forgotten',
      'policy.canary-started',
      'policy.canary-expired',
      'policy.promoted',
      'policy.rejected',
      'policy.update-failed',
      'policy.rolled-back',
      'turn.withdrawn',
      'sample.withdrawn',
      'turn.continued',
      'judgment.revised',
    ] as const)
      if (of(type).length > 0) seen.add(type);
  }
  expect([...seen]).toEqual(
    expect.arrayContaining([
      'trained again',
      'already-trained',
      'aborted',
      'side',
      'superseded',
      'no-next-state',
      'no-reward',
      'too-late',
      'deleted',
      'no-verdict',
      'unavailable',
      'stale',
      'off-lineage',
      'corrected',
      'feedback',
      'reward',
      'votes',
      'implicit',
      'soft',
      'firm',
      'carried',
      'carried again',
      'rolled back: operator',
      'rolled back: automatic',
      'session by explicit',
      'session by history',
      'session by continued',
      'session by new',

      'lane.forgotten',
      'policy.canary-started',
      'policy.canary-expired',
      'after its canary: policy.promoted',
      'after its canary: policy.rejected',
      'a turn of a candidate',
      'policy.promoted',
      'policy.rejected',
      'policy.update-failed',
      'policy.rolled-back',
      'turn.withdrawn',
      'sample.withdrawn',
      'turn.continued',
      'judgment.revised',
    ]),
  );
});

/** A fold that throws ends its process: noticed as well. */
function isNoticed({ folds, fault }: Mutation, seed: number): boolean {
  const faults = new Set(fault === undefined ? [] : [fault]);
  try {
    return runHistory(seed, { faults, ...defined({ folds }) }).broken.length > 0;
  } catch {
    return true;
  }
}

/**
 * A rollback meets a batch that is being trained; an answer is deleted while its next state is waited for; the last
 * reward of a turn overtakes it; the head goes back to a version whose batch waits to train again.
 */
const RARE = [21, 25, 32, 1507];

test.each(mutations)('a law breaks when $name', (mutation) => {
  const seeds = [...RARE, ...Array.from({ length: 20 }, (_, i) => i + 1)];
  expect(seeds.some((seed) => isNoticed(mutation, seed))).toBe(true);
});

import { expect, test } from 'vitest';
import { createAudit } from '../../../services/cli/audit/audit.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { mutations } from './mutations.ts';
import { type HistoryOptions, runHistory } from './run-history.ts';

function report(seed: number, options?: HistoryOptions) {
  const { world } = runHistory(seed, options);
  const audit = createAudit();
  for (const topic of ['conversations', 'turns', 'training'] as const)
    for (const [partition, events] of world.records[topic].entries())
      for (const [offset, event] of events.entries())
        audit.on({ topic, at: { partition, offset }, time: Date.parse(event.time), event });
  return audit.report();
}

test.each(Array.from({ length: 15 }, (_, i) => i + 1))(
  'clawloop audit balances in the history of seed %i',
  (seed) => {
    const { broken, open } = report(seed);
    expect(broken).toEqual([]);
    expect(Object.values(open).every((count) => count === 0)).toBe(true);
  },
);

test.each([
  'a stale owner commits',
  'facts and state are committed one after the other',
  'ids are not remembered',
  'the gate closes only when the batch is read back',
])('clawloop audit does not balance when %s', (name) => {
  const { folds, fault } = mutations.find((mutation) => mutation.name === name)!;
  const options = {
    faults: new Set(fault === undefined ? [] : [fault]),
    ...defined({ folds }),
  };
  const seeds = Array.from({ length: 20 }, (_, i) => i + 1);
  expect(seeds.some((seed) => report(seed, options).broken.length > 0)).toBe(true);
});

import { expect, test } from 'vitest';
import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { PolicyRejected } from '../../shared/events/policy-rejected.ts';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import type { SubmitSettings } from './fold-settings.ts';
import { submit } from './submit.ts';
import { sampleReady, sampleWithdrawn } from './testing/events.ts';
import { runFold } from './testing/run-fold.ts';

const { settings: training } = defaultTrainingSettings('claw-nano');
const settings: SubmitSettings = { size: 1, maxStaleness: 99, training };

const ended = (n: number) =>
  PolicyRejected.create({
    id: `default/batch/${n}/rejected`,
    source: 'test',
    time: '2026-01-01T00:00:00Z',
    data: { batchId: `default/batch/${n}`, adapter: 'default', reason: 'not-finite', detail: '' },
  });

/** One batch per sample, finished before the next sample arrives. */
const inTurn = (ids: readonly string[], keyOf: (id: string) => string = () => 'key'): ClawLoopEvent[] =>
  ids.flatMap((id, index) => [sampleReady(id, 's', 0, { key: keyOf(id) }), ended(index + 1)]);

function batchesOf(events: readonly ClawLoopEvent[], changes: Partial<SubmitSettings> = {}) {
  const { emitted, rows } = runFold(submit, events, { ...settings, ...changes });
  const batches = emitted.filter((event): event is BatchSubmitted => event.type === 'batch.submitted');
  return { batches: batches.map(({ data }) => data), rows: rows.get('default')! };
}

const named = ({ earlier = [] }: BatchSubmitted['data']) => earlier.map(({ sampleId }) => sampleId);

test('a batch names earlier samples by position, and none of its own', () => {
  const { batches } = batchesOf(inTurn(['a', 'b', 'c']));
  expect(batches.map((batch) => named(batch).toSorted())).toEqual([[], ['a'], ['a', 'b']]);
  expect(batches[0]).not.toHaveProperty('earlier');
  expect(batches[1]!.earlier).toEqual([{ sampleId: 'a', at: { partition: 0, offset: 0 } }]);
});

test('a deleted sample is no longer named or kept', () => {
  const next = sampleReady('c', 's', 0, { key: 'key' });
  const { batches, rows } = batchesOf([...inTurn(['a', 'b', 'a~2']), sampleWithdrawn('a'), next]);
  expect(named(batches[2]!).toSorted()).toEqual(['a', 'b']);
  expect(named(batches[3]!)).toEqual(['b']);
  expect(JSON.stringify(rows.get('earlier/now'))).not.toContain('"sampleId":"a');
});

test('a fair draw of many is kept, including old ones, with a share for each person', () => {
  const ids = Array.from({ length: 200 }, (_, n) => `turn ${n}`);
  const { batches, rows } = batchesOf(inTurn(ids, (id) => (id === 'turn 5' ? 'quiet' : 'talks')));
  expect(rows.get('earlier/now')).toHaveLength(16);
  const last = named(batches.at(-1)!);
  expect(last).toHaveLength(8);
  expect(last).toContain('turn 5');
  const kept = (rows.get('earlier/now') as { readonly sampleId: string }[]).map(({ sampleId }) =>
    Number(sampleId.slice(5)),
  );
  // a uniform draw of 0 to 199: the mean is 99.5, with a standard error of 14
  const mean = kept.reduce((sum, n) => sum + n, 0) / kept.length;
  expect(Math.abs(mean - 99.5)).toBeLessThan(3 * 14);
});

test('earlier rules name and keep nothing, so rows stay as they were', () => {
  const { batches, rows } = batchesOf(inTurn(['a', 'b', 'c']), { training: { ...training, rules: 2 } });
  expect(batches).toHaveLength(3);
  for (const batch of batches) expect(batch).not.toHaveProperty('earlier');
  expect([...rows.entries('earlier/')]).toEqual([]);
});

import { expect, test } from 'vitest';
import { PolicyCanaryStarted } from '../events/policy-canary-started.ts';
import { PolicyRolledBack } from '../events/policy-rolled-back.ts';
import { spanOf } from './spans-of-event.ts';
import { newTraceId, spanIdOf } from './trace-context.ts';

const source = { source: 'clawloop/test', time: '2026-01-01T00:00:00Z' };
const context = { written: Date.parse('2026-01-01T00:00:01Z'), traceparentOf: () => undefined };

test('the start of a canary is a step of its batch', () => {
  const data = {
    batchId: 'a/batch/2',
    adapter: 'a',
    from: 1,
    to: 2,
    checkpoint: 'c',
    digest: 'd',
    share: 0.1,
  };
  const span = spanOf(PolicyCanaryStarted.create({ id: 'a/batch/2/canary', ...source, data }), context);
  expect(span).toMatchObject({
    traceId: newTraceId('a/batch/2'),
    parentId: spanIdOf('a/batch/2'),
    attributes: { 'clawloop.version': 2, 'clawloop.parent': 1, 'clawloop.share': 0.1 },
  });
});

test('a rollback is in the trace of the version that it takes back, below its promotion', () => {
  const data = { adapter: 'a', from: 2, to: 1, cause: 'automatic' as const, turnId: 't' };
  const span = spanOf(PolicyRolledBack.create({ id: 't/rolled-back', ...source, data }), context);
  expect(span).toMatchObject({
    traceId: newTraceId('a/batch/2'),
    parentId: spanIdOf('a/batch/2/promoted'),
    attributes: { 'clawloop.version': 2, 'clawloop.target': 1, 'clawloop.cause': 'automatic' },
  });
  const fromBase = { id: 'o', ...source, data: { adapter: 'a', from: 0, to: 3 } };
  expect(spanOf(PolicyRolledBack.create(fromBase), context)).toBeUndefined();
});

import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import {
  audit,
  batch,
  completed,
  earned,
  event,
  type Facts,
  feedback,
  interaction,
  judged,
  promoted,
  ready,
  trained,
  vote,
} from './testing/facts.ts';

test('a trained, a skipped and an open interaction balance', () => {
  const report = audit(
    trained('a'),
    interaction('b'),
    event('turn.skipped', 'b/skipped', { turnId: 'b', reason: 'side', by: 'b' }),
    interaction('c'),
    batch(1, 0, 'a'),
    promoted(1, 0),
  );
  expect(report.broken).toEqual([]);
  expect(report.counts).toMatchObject({
    interactions: 3,
    'in a batch': 1,
    'not trained, with a reason': 1,
    promoted: 1,
  });
  expect(report.open).toMatchObject({
    'interactions without an outcome': 1,
    'batches without an outcome': 0,
  });
});

test('a verdict of 0 that waits for its session counts as judged', () => {
  const report = audit(
    interaction('a'),
    completed('a', { from: 'b' }),
    vote('a', 0),
    judged('a', { score: 0 }),
    interaction('b'),
    interaction('c'),
    completed('b', { from: 'c' }),
  );
  expect(report.broken).toEqual([]);
  expect(report.open).toMatchObject({ 'turns without a judgment': 1, 'judgments without a sample': 1 });
});

test('a duplicate of an event is not a second interaction', () => {
  const report = audit(trained('a'), interaction('a'));
  expect(report.counts).toMatchObject({ interactions: 1 });
  expect(report.broken).toEqual([]);
});

test('the last hint may settle a turn, as the last vote does', () => {
  const hint = event('hint.cast', 'a/hint/0', { turnId: 'a', index: 0 });
  const judgment = judged('a', { by: 'a/hint/0' });
  const report = audit(interaction('a'), completed('a'), vote('a'), hint, judgment, ready('a'));
  expect(report.broken).toEqual([]);
});

test('a late outcome of a settled batch is void, not a violation', () => {
  const failed = event('policy.update-failed', 'b1/update-failed', { batchId: 'b1', reason: 'strikes' });
  const report = audit(
    trained('a'),
    batch(1, 0, 'a'),
    failed,
    promoted(1, 0),
    trained('b'),
    batch(2, 0, 'b'),
  );
  expect(report.broken).toEqual([]);
  expect(report.counts).toMatchObject({ 'update failed': 1, promoted: 0 });
});

test('a candidate whose parent was rolled back has an outcome, and the head stays', () => {
  const report = audit(
    [trained('a'), trained('b')],
    batch(1, 0, 'a'),
    promoted(1, 0),
    batch(2, 1, 'b'),
    event('policy.rolled-back', 'r', { from: 1, to: 0 }),
    promoted(2, 1),
    trained('c'),
    batch(3, 0, 'c'),
  );
  expect(report.broken).toEqual([]);
  expect(report.counts).toMatchObject({ 'parent rolled back': 1, rollbacks: 1 });
});

test('returns along the conversation tree add up', () => {
  const report = audit(
    [interaction('a', true, 0, { settle: 'reward' }), interaction('b', true, 0, { settle: 'reward' })],
    [completed('a', { settle: 'reward' }), completed('b', { settle: 'reward' })],
    [earned('a', 0.45, null, null), earned('b', 0.5, 0.5, 'a')],
    judged('a', { score: 0.45, source: 'reward', by: 'a/return' }),
    judged('b', { score: 0.5, source: 'reward', by: 'b/return' }),
    ready('a', { verdict: 0.45, source: 'reward', following: 0 }),
    ready('b', { verdict: 0.5, source: 'reward', following: 0 }),
  );
  expect(report.broken).toEqual([]);
});

test('feedback in time decides, later feedback is late; neither is a violation', () => {
  const report = audit(
    [interaction('a'), completed('a'), feedback('f', 'a')],
    judged('a', { score: -1, source: 'feedback', by: 'f/feedback' }),
    [feedback('g', 'a', 1), ready('a', { verdict: -1, source: 'feedback' })],
  );
  expect(report.broken).toEqual([]);
});

test('a batch formed during a rollback, or a late copy of the rollback, is no violation', () => {
  const rollback = event('policy.rolled-back', 'r', { from: 1, to: 0 });
  const report = audit(
    [trained('a'), trained('b'), trained('c')],
    batch(1, 0, 'a'),
    promoted(1, 0),
    rollback,
    batch(2, 1, 'b'),
    promoted(2, 1),
    event('policy.rolled-back', 'forth', { from: 0, to: 1 }),
    rollback,
    batch(3, 1, 'c'),
    promoted(3, 1),
    event('policy.loaded', 'l', { version: 3 }),
  );
  expect(report.broken).toEqual([]);
  expect(report.counts).toMatchObject({ promoted: 2, 'parent rolled back': 1, rollbacks: 2 });
});

test('an answer newer than the batches read is not judged', () => {
  expect(audit(trained('a'), batch(1, 0, 'a'), promoted(1, 0), interaction('b', true, 2)).broken).toEqual([]);
});

test('a deleted answer is dropped before or after its verdict; no key deletes another key’s', () => {
  const deleted = (key = 'mine') => event('response.deleted', 'a/deleted', { interactionId: 'a', key });
  const withdrawn = event('turn.withdrawn', 'a/withdrawn', { turnId: 'a', by: 'a/deleted' });
  const dropped = event('sample.dropped', 'a/dropped', { sampleId: 'a', reason: 'deleted' });
  const unavailable = { score: null, source: 'unavailable', by: 'a/withdrawn' };
  const early = [interaction('a'), deleted(), completed('a'), withdrawn, judged('a', unavailable), dropped];
  const asked = event('sample.withdrawn', 'a/withdrawn', { sampleId: 'a', reason: 'deleted' });
  const late = [deleted(), trained('a'), withdrawn, asked, dropped];
  for (const log of [early, late]) {
    const { broken, counts } = audit(log as Facts);
    expect(broken).toEqual([]);
    expect(counts['  deleted']).toBe(1);
  }
  expect(audit([interaction('a'), deleted('other'), completed('a'), withdrawn]).broken).toEqual([
    'a was withdrawn by a/deleted, which has another access key',
  ]);
});

test('an event put back for one group appears twice and counts once', () => {
  const facts = [interaction('a'), completed('a'), vote('a'), judged('a')];
  const again = { ...ready('a'), redrivenfor: 'submit' } as ClawLoopEvent;
  expect(audit(facts, ready('a'), again, batch(1, 0, 'a'), promoted(1, 0)).broken).toEqual([]);
  // If the original is unreadable, the copy counts.
  expect(audit(facts, again, batch(1, 0, 'a'), promoted(1, 0)).broken).toEqual([]);
});

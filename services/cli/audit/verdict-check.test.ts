import { expect, test } from 'vitest';
import { evidenceOfWorse } from '../../../shared/lineage/evidence.ts';
import {
  audit,
  batch,
  completed,
  event,
  type Facts,
  interaction,
  judged,
  promoted,
  trained,
  vote,
} from './testing/facts.ts';

const verdict = (turnId: string, version: number, score = 1) =>
  event('verdict.recorded', `${turnId}/verdict`, { turnId, version, score, source: 'votes', wishes: [] });
const counts = { turnsBefore: 1, badBefore: 0, turns: 1, bad: 1, since: 0, alpha: 1, margin: 0 };
const evidence = evidenceOfWorse({ before: { turns: 1, bad: 0 }, after: { turns: 1, bad: 1 }, margin: 0 });
const automatic = (figures: object = {}, data: object = {}) =>
  event('policy.rolled-back', 'b/rolled-back', {
    from: 1,
    to: 0,
    cause: 'automatic',
    turnId: 'b',
    figures: { ...counts, evidence, ...figures },
    ...data,
  });
/** A good verdict on the base, then a bad one on v1, which is rolled back. */
const history = (rollback: Facts, verdictOfB = verdict('b', 1, -1)): Facts => [
  trained('a'),
  verdict('a', 0),
  batch(1, 0, 'a'),
  promoted(1, 0),
  judgedBad,
  verdictOfB,
  rollback,
];
const judgedBad: Facts = [
  interaction('b', true, 1),
  completed('b', { version: 1 }),
  vote('b', -1),
  judged('b', { score: -1 }),
];
const about = (facts: Facts, what: RegExp) => audit(facts).broken.filter((line) => what.test(line));
const here = /verdict of|rolled-back|pauses learning/;

test('a rollback that the counted verdicts justify is in order', () => {
  const report = audit(history(automatic()));
  expect(report.broken.filter((line) => here.test(line))).toEqual([]);
  expect(report.counts).toMatchObject({ 'automatic rollbacks': 1, rollbacks: 1 });
});

test.each<[string, Facts, RegExp]>([
  ['evidence that its counts do not give', history(automatic({ evidence: 500 })), /but its counts give/],
  ['too little evidence', history(automatic({ alpha: 0.01 })), /is less than 100/],
  ['verdicts that are not in the log', history(automatic({ turns: 2, bad: 2 })), /the log has 1 of 1/],
  ['another target than the parent', history(automatic({}, { from: 1, to: 7 })), /which is not its parent/],
  ['no figures', history(automatic({}, { figures: undefined })), /names no figures/],
  [
    'another id',
    history(event('policy.rolled-back', 'x', automatic().data)),
    /has the data of b\/rolled-back/,
  ],
  ['a verdict for another version', history([], verdict('b', 0, -1)), /counts for v0, but v1 answered/],
  ['another verdict than was judged', history([], verdict('b', 1, 1)), /is 1, but -1 was judged/],
  ['a verdict without a judgment', [verdict('z', 0)], /the verdict of z has no judgment/],
  [
    'a pause after a rollback that is not there',
    [event('learning.paused', 'b/rolled-back/paused', { rollback: 'b/rolled-back' })],
    /pauses learning after b\/rolled-back/,
  ],
  [
    'a canary that never started',
    event('policy.rejected', 'b1/rejected', { batchId: 'b1', reason: 'canary', detail: '' }),
    /ends a canary that never started/,
  ],
  [
    'evidence of a canary that its counts do not give',
    [
      event('policy.canary-started', 'b1/canary', { batchId: 'b1', from: 0, to: 1, share: 0.1 }),
      event('policy.rejected', 'b1/rejected', {
        batchId: 'b1',
        reason: 'canary',
        detail: '',
        figures: { turnsOfParent: 9, badOfParent: 0, turns: 9, bad: 9, margin: 0.1, evidenceOfWorse: 3 },
      }),
    ],
    /has evidenceOfWorse 3, but its counts give/,
  ],
])('%s is a violation', (_, facts, what) => {
  expect(about(facts, what)).toHaveLength(1);
});

test('a judged turn that became a sample has its verdict recorded, from the first recorded verdict on', () => {
  const ofSamples = (facts: Facts) => about(facts, /its verdict is not recorded/);
  expect(ofSamples([trained('a'), verdict('a', 0), trained('b'), verdict('b', 0)])).toEqual([]);
  expect(ofSamples([trained('a'), trained('b'), verdict('b', 0)])).toEqual([]);
  expect(ofSamples([trained('a'), verdict('a', 0), trained('b')])).toEqual([
    'b became a sample, but its verdict is not recorded',
  ]);
});

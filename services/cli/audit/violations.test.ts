import { expect, test } from 'vitest';
import type { BatchSubmitted } from '../../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import {
  again,
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
  returned,
  stepped,
  trained,
  vote,
} from './testing/facts.ts';

/** v1 learned from a sample, and the head went back. */
const abandoned = [
  trained('a'),
  batch(1, 0, 'a'),
  promoted(1, 0),
  event('policy.rolled-back', 'r', { from: 1, to: 0 }),
];
const otherSettings = ({ data }: ClawLoopEvent) => {
  const { settings } = data as BatchSubmitted['data'];
  return { ...data, settings: { ...settings, epochs: settings.epochs + 1 } } as BatchSubmitted['data'];
};

test.each<[string, Facts, RegExp]>([
  [
    'two outcomes',
    [trained('a'), event('turn.skipped', 'a/skipped', { turnId: 'a', reason: 'side', by: 'a' })],
    /2 outcomes/,
  ],
  [
    'an epoch that was never opened, in a lane with recorded epochs',
    [
      event('session.opened', 'chat-a@a/opened', { key: 'mine', session: 'chat-a', epoch: 'a' }),
      trained('a'),
      trained('b'),
    ],
    /chat-b has events of an epoch that was never opened/,
  ],
  ['an event decided twice', [trained('a'), ready('a')], /is in the log 2 times/],
  [
    'a sample in two batches',
    [trained('a'), batch(1, 0, 'a'), promoted(1, 0), batch(2, 1, 'a')],
    /in 2 batches/,
  ],
  [
    "a call's second sample without the verdict of a later answer",
    [trained('a'), ready('a~5'), batch(1, 0, 'a', 'a~5'), promoted(1, 0)],
    /the sample of a~5 is named like one that carries the verdict of a later answer, but carries none/,
  ],
  ['a sample from nowhere', [batch(1, 0, 'x')], /is not in the log/],
  ['two open batches', [trained('a'), trained('b'), batch(1, 0, 'a'), batch(2, 0, 'b')], /while b1 was open/],
  [
    'a version number used twice',
    [
      trained('a'),
      batch(1, 0, 'a'),
      promoted(1, 0),
      event('batch.submitted', 'b1x', { ...batch(1, 1, 'a').data, batchId: 'b1x' }),
    ],
    /used twice/,
  ],
  ['a batch on a version that was never the head', [trained('a'), batch(1, 3, 'a')], /starts from v3/],
  ['an outcome without an open batch', [promoted(1, 0)], /was not open/],
  [
    'a version that was trained from another batch',
    [trained('a'), batch(1, 0, 'a'), stepped(1, batch(1, 0, 'b')), promoted(1, 0)],
    /v1 of default was not trained from b1/,
  ],
  [
    'a version without the digest of its batch',
    [trained('a'), batch(1, 0, 'a'), stepped(1, undefined), promoted(1, 0)],
    /v1 of default was not trained from b1/,
  ],
  ['a pinned version that made a turn', [interaction('a', false), completed('a')], /pinned/],
  [
    'a version loaded that was never promoted',
    [event('policy.loaded', 'l', { version: 7 })],
    /never promoted/,
  ],
  [
    'an answer by a version that was never promoted',
    [
      trained('a'),
      batch(1, 0, 'a'),
      event('policy.rejected', 'r', { batchId: 'b1' }),
      interaction('b', true, 1),
    ],
    /b was answered by v1 of default/,
  ],
  ['a small batch', [batch(1, 0)], /b1 has 0 of 1 samples, but nobody asked/],
  ['an empty batch', [event('batch.requested', 'q', { after: 0 }), batch(1, 0)], /b1 is empty/],
  [
    'a stale sample',
    [
      ...['a', 'b', 'c'].flatMap((id) => trained(id)),
      batch(1, 0, 'a'),
      promoted(1, 0),
      batch(2, 1, 'b'),
      promoted(2, 1),
      batch(3, 2, 'c'),
    ],
    /c is 2 steps old in b3, which allows 1/,
  ],
  [
    'a sample of a version that was rolled back',
    [
      trained('a'),
      batch(1, 0, 'a'),
      promoted(1, 0),
      trained('b', 1),
      event('policy.rolled-back', 'r', { from: 1, to: 0 }),
      batch(2, 0, 'b'),
    ],
    /b of v1 is off the lineage of b2/,
  ],
  [
    'a next state of another key',
    [interaction('a'), interaction('b', true, 0, { key: 'other' }), completed('a', { from: 'b' })],
    /next state of a comes from b/,
  ],
  [
    'a session of two keys',
    [
      completed('a', { session: 's', epoch: 'e' }),
      completed('b', { session: 's', epoch: 'e', key: 'other' }),
    ],
    /session s has turns of two/,
  ],
  [
    'feedback of another key',
    [interaction('a'), completed('a'), feedback('f', 'a', -1, 'other')],
    /feedback f on a is of another/,
  ],
  [
    'feedback that came first and did not decide',
    [interaction('a'), completed('a'), feedback('f', 'a'), vote('a'), judged('a')],
    /did not decide/,
  ],
  [
    'feedback that decided with another score',
    [completed('a'), feedback('f', 'a'), judged('a', { source: 'feedback', by: 'f/feedback' })],
    /not with its score/,
  ],
  [
    'a turn that waits for a reward but is settled by votes',
    [completed('a', { settle: 'reward' }), vote('a'), judged('a')],
    /waits for a reward/,
  ],
  [
    'a turn settled by a reward that does not wait for one',
    [completed('a'), feedback('f', 'a', 1), judged('a', { source: 'reward', by: 'f/feedback' })],
    /does not wait for a reward/,
  ],
  [
    'a return that is not the sum',
    [interaction('a'), interaction('b'), earned('a', 0.5, null, null), earned('b', 1, 1, 'a')],
    /the return of a is 0.5, but 0.9 by the conversation tree/,
  ],
  [
    'a sample that trains again unasked',
    [abandoned, again(2, 0, 1, 'a')],
    /b2 trains a again, but nobody asked for it[\s\S]*in 2 batches/,
  ],
  [
    'a sample that trains twice on one line',
    [trained('a'), batch(1, 0, 'a'), promoted(1, 0), returned(1, 'a'), again(2, 1, 1, 'a')],
    /b2 trains b1 again, but v1 learned from it in v1/,
  ],
  [
    'a sample that trains again in the place of another',
    [abandoned, trained('c'), returned(1, 'a', 'c'), again(2, 0, 1, 'c')],
    /b2 trains b1 again, but c was not in it/,
  ],
  [
    'a batch that trains again with other settings',
    [abandoned, returned(1, 'a'), event('batch.submitted', 'b2', otherSettings(again(2, 0, 1, 'a')))],
    /b2 trains b1 again, but with other settings/,
  ],
  [
    'a batch that trains again with a seed of its own',
    [abandoned, returned(1, 'a'), event('batch.submitted', 'b2', { ...batch(2, 0, 'a').data, again: 'b1' })],
    /b2 has the seed/,
  ],
  [
    'a sample that is to train again, and is dropped without having trained',
    [trained('a'), batch(1, 0), returned(1, 'a')],
    /a was to train again, but is in no batch/,
  ],
  [
    'a return from nowhere',
    [interaction('b'), earned('b', 1, 1, 'a')],
    /continues from a, which has no return/,
  ],
  [
    'a reward that nobody gave',
    [interaction('a'), (earned('a', 2, 2, null) as readonly Facts[]).slice(1)],
    /reward-a did not give it/,
  ],
  ['a judgment without a cause', [completed('a'), judged('a')], /not in the log before it/],
])('%s is a violation', (_, events, sentence) => {
  expect(audit(events).broken.join('\n')).toMatch(sentence);
});

test('samples of an abandoned version may train again, on request, once more each time', () => {
  const waits = audit(abandoned, returned(1, 'a'), returned(1, 'a'));
  expect(waits).toMatchObject({ broken: [], open: { 'samples without a batch': 1 } });
  const once = [abandoned, returned(1, 'a'), again(2, 0, 1, 'a'), promoted(2, 0)];
  expect(audit(once)).toMatchObject({ broken: [], open: { 'samples without a batch': 0 } });
  const gone = { sampleId: 'a', reason: 'already-trained', returned: 'late' };
  const late = { ...returned(1, 'a'), id: 'late' };
  const dropped = event('sample.dropped', 'a/dropped/late', gone);
  expect(audit(once, late, dropped)).toMatchObject({ broken: [], open: { 'samples without a batch': 0 } });
  expect(audit(once, late, dropped, { ...dropped, id: 'b/dropped/late' }).broken).not.toEqual([]);
});

test('a version names its batch; one from an earlier release need not', () => {
  const of = batch(1, 0, 'a');
  const earlier = { ...stepped(1, undefined), dataschema: 'clawloop:policy.trained:1' };
  for (const fact of [stepped(1, of), earlier])
    expect(audit(trained('a'), of, fact, promoted(1, 0)).broken).toEqual([]);
});

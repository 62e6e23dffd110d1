import { expect, test } from 'vitest';
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
  stepped,
  trained,
  vote,
} from './testing/facts.ts';

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

test('a version names its batch; one from an earlier release need not', () => {
  const of = batch(1, 0, 'a');
  const earlier = { ...stepped(1, undefined), dataschema: 'clawloop:policy.trained:1' };
  for (const fact of [stepped(1, of), earlier])
    expect(audit(trained('a'), of, fact, promoted(1, 0)).broken).toEqual([]);
});

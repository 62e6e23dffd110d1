import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { createPolicyView } from './policy-view.ts';
import { createTurnViews, describeStage, describeVerdict, isUnheard } from './turn-view.ts';

/** Just what the views read of an event. */
const event = (type: ClawLoopEvent['type'], id: string, data: object, subject = 'default'): ClawLoopEvent =>
  ({ type, id, subject, time: '2026-01-01T00:00:00Z', data }) as unknown as ClawLoopEvent;
const interaction = (id: string) =>
  event('interaction.completed', id, { interactionId: id, live: true, messages: [], answer: {}, version: 0 });
const batch = (n: number, parent: number, sampleId: string) =>
  event('batch.submitted', `b${n}`, { batchId: `b${n}`, n, parent, samples: [{ sampleId }] });
const promoted = (n: number, from: number) =>
  event('policy.promoted', `b${n}/promoted`, { batchId: `b${n}`, from, to: n });

test('a turn whose candidate lost its parent to a rollback did not train, and its version was not served', () => {
  const [turns, policy] = [createTurnViews(), createPolicyView('default')];
  for (const one of [
    interaction('a'),
    interaction('b'),
    interaction('c'),
    batch(1, 0, 'a'),
    promoted(1, 0),
    batch(2, 1, 'b'),
    event('policy.rolled-back', 'r', { from: 1, to: 0 }),
    promoted(2, 1),
    batch(3, 0, 'c'),
  ]) {
    turns.on(one);
    policy.on(one);
  }
  expect([...turns.turns.values()].map(({ stage }) => describeStage(stage))).toEqual([
    'trained in v1',
    'not trained: parent-rolled-back',
    'in b3',
  ]);
  expect([...policy.versions.values()].map(({ state }) => state)).toEqual([
    'promoted',
    'not served: parent-rolled-back',
    'training',
  ]);
  expect(policy.head().head).toBe(0);
});

test('a version that was rejected says why, with the numbers', () => {
  const policy = createPolicyView('default');
  const detail = 'mean KL to the base is 0.2, the limit is 0.12';
  policy.on(batch(1, 0, 'a'));
  policy.on(event('policy.rejected', 'b1/rejected', { batchId: 'b1', reason: 'kl-to-base', detail }));
  expect(policy.versions.get(1)).toMatchObject({ state: 'rejected: kl-to-base', detail });
});

test('what was asked is what the person said, without what the client put around and after it', () => {
  const { on, turns } = createTurnViews();
  const context = '<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nnone\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>';
  const messages = [
    { role: 'user', content: '[Sat 2026-11-21 17:16 UTC] Which way?\n\nRuntime: agent=main | sessionId=a' },
    { role: 'user', content: [{ type: 'text', text: context }] },
  ];
  const data = { interactionId: 'a', live: true, messages, answer: {}, version: 0 };
  on(event('interaction.completed', 'a', data));
  expect(turns.get('a')).toMatchObject({ asked: 'Which way?' });
});

test('a turn of a rewarded session waits for its end, and says how much of its return is its own', () => {
  const { on, turns } = createTurnViews();
  const told = () => [describeStage(turns.get('a')!.stage), describeVerdict(turns.get('a')!)];
  const data = { interactionId: 'a', live: true, settle: 'reward', messages: [], answer: {}, version: 0 };
  on(event('interaction.completed', 'a', data));
  expect(told()).toEqual(['waiting for end of session', 'none yet']);
  on(
    event('turn.completed', 'a/completed', {
      next: [],
      turnId: 'a',
      session: 's',
      rule: 'conversation',
      settle: 'reward',
    }),
  );
  expect(told()).toEqual(['waiting for end of session', 'none yet']);
  on(event('turn.feedback', 'a/return', { turnId: 'a', score: 1 / 3, return: { own: null } }));
  on(event('judgment.reached', 'a/judgment', { turnId: 'a', score: 1 / 3, source: 'reward', advantage: -2 }));
  expect(told()[1]).toBe('0.3333 by reward (return, no reward of its own), advantage -2');
  on(event('turn.feedback', 'a/return', { turnId: 'a', score: 1, return: { own: 0.5 } }));
  expect(told()[1]).toBe('0.3333 by reward (return, 0.5 of its own), advantage -2');
});

test('a thumb after the votes shows as the verdict, and its sample as where the turn is', () => {
  const { on, turns } = createTurnViews();
  const told = () => [describeStage(turns.get('a')!.stage), describeVerdict(turns.get('a')!)];
  on(interaction('a'));
  on(event('judgment.reached', 'a/judgment', { turnId: 'a', score: 1, source: 'votes', hints: [] }));
  on(event('sample.ready', 'a/ready', { sampleId: 'a' }));
  on(event('judgment.revised', 'a/judgment/1', { turnId: 'a', n: 1, score: -1, source: 'feedback' }));
  on(event('sample.ready', 'a~1/ready', { sampleId: 'a~1' }));
  on(event('sample.dropped', 'a/dropped', { sampleId: 'a', reason: 'corrected' }));
  expect(told()).toEqual(['waiting for batch', '-1 by feedback']);
  on(batch(1, 0, 'a~1'));
  on(promoted(1, 0));
  expect(told()[0]).toBe('trained in v1');
  on(event('sample.dropped', 'a~2/dropped', { sampleId: 'a~2', reason: 'no-verdict' }));
  expect(told()[0]).toBe('trained in v1');
});

test('a hint that nobody gave is told as inferred', () => {
  const { on, turns } = createTurnViews();
  on(interaction('a'));
  const inferred = 'No lists, please.';
  const judged = { turnId: 'a', score: -1, source: 'votes', hints: [inferred], inferred };
  on(event('judgment.reached', 'a/judgment', judged));
  expect(describeVerdict(turns.get('a')!)).toBe(
    '-1 by votes, inferred from other complaints: No lists, please.',
  );
});

test('the standing wishes that a batch names are told', () => {
  const { on, turns } = createTurnViews();
  on(interaction('a'));
  on(event('judgment.reached', 'a/judgment', { turnId: 'a', score: 1, source: 'votes', hints: [] }));
  on(event('batch.submitted', 'b', { batchId: 'b', samples: [{ sampleId: 'a', standing: ['no-list'] }] }));
  expect(describeVerdict(turns.get('a')!)).toBe('1 by votes, beside it the standing wishes no-list');
});

test('what a person said and no judge understood is known; who only went on has said nothing of the answer', () => {
  const { on, turns } = createTurnViews();
  const judged = (id: string, vote: object) => {
    on(interaction(id));
    const next = [{ role: 'user', content: 'That was a lot to read.' }];
    on(event('turn.completed', `${id}/completed`, { turnId: id, next, settle: 'votes' }));
    on(event('vote.cast', `${id}/vote/0`, { turnId: id, vote: 0, ...vote }));
    on(event('judgment.reached', `${id}/judgment`, { turnId: id, score: 0, source: 'votes', hints: [] }));
    return isUnheard(turns.get(id)!);
  };
  expect([judged('a', {}), judged('b', { reaction: 'moved-on' })]).toEqual([true, false]);
  expect(turns.get('a')!.reaction).toBe('That was a lot to read.');
});

import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../events/catalogue.ts';
import { describeStage, describeVerdict } from './describe-turn.ts';
import { createPolicyView } from './policy-view.ts';
import { isUnheard } from './turn-view.ts';
import { TurnViews } from './turn-views.ts';

/** The fields of an event that the views read. */
const event = (type: ClawLoopEvent['type'], id: string, data: object, subject = 'default'): ClawLoopEvent =>
  ({ type, id, subject, time: '2026-01-01T00:00:00Z', data }) as unknown as ClawLoopEvent;
const interaction = (id: string) =>
  event('interaction.completed', id, { interactionId: id, live: true, messages: [], answer: {}, version: 0 });
const batch = (n: number, parent: number, sampleId: string) =>
  event('batch.submitted', `b${n}`, { batchId: `b${n}`, n, parent, samples: [{ sampleId }] });
const promoted = (n: number, from: number) =>
  event('policy.promoted', `b${n}/promoted`, { batchId: `b${n}`, from, to: n });

test('after a rollback of its parent, a candidate is not served and its turn not trained', () => {
  const [turns, policy] = [new TurnViews(), createPolicyView('default')];
  for (const entry of [
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
    turns.on(entry);
    policy.on(entry);
  }
  expect([...turns.turns.values()].map(({ stage }) => describeStage(stage))).toEqual([
    'trained in v1',
    'not trained: parent-rolled-back',
    'in b3',
  ]);
  expect([...policy.versions.values()].map(({ state }) => state)).toEqual([
    'rolled back',
    'not served: parent-rolled-back',
    'training',
  ]);
  expect(policy.head().head).toBe(0);
});

test('a rejected version shows the reason with numbers', () => {
  const policy = createPolicyView('default');
  const detail = 'mean KL to the base is 0.2, the limit is 0.12';
  policy.on(batch(1, 0, 'a'));
  policy.on(event('policy.rejected', 'b1/rejected', { batchId: 'b1', reason: 'kl-to-base', detail }));
  expect(policy.versions.get(1)).toMatchObject({ state: 'rejected: kl-to-base', detail });
});

test('the request shows the words of the person, without additions of the client', () => {
  const { on, turns } = new TurnViews();
  const context = '<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nnone\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>';
  const messages = [
    { role: 'user', content: '[Sat 2026-11-21 17:16 UTC] Which way?\n\nRuntime: agent=main | sessionId=a' },
    { role: 'user', content: [{ type: 'text', text: context }] },
  ];
  const data = { interactionId: 'a', live: true, messages, answer: {}, version: 0 };
  on(event('interaction.completed', 'a', data));
  expect(turns.get('a')).toMatchObject({ asked: 'Which way?' });
});

test('a turn of a rewarded session waits for its end and shows its own reward', () => {
  const { on, turns } = new TurnViews();
  const described = () => [describeStage(turns.get('a')!.stage), describeVerdict(turns.get('a')!)];
  const data = { interactionId: 'a', live: true, settle: 'reward', messages: [], answer: {}, version: 0 };
  on(event('interaction.completed', 'a', data));
  expect(described()).toEqual(['waiting for end of session', 'none yet']);
  on(
    event('turn.completed', 'a/completed', {
      next: [],
      turnId: 'a',
      session: 's',
      rule: 'conversation',
      settle: 'reward',
    }),
  );
  expect(described()).toEqual(['waiting for end of session', 'none yet']);
  on(event('turn.feedback', 'a/return', { turnId: 'a', score: 1 / 3, return: { own: null } }));
  on(event('judgment.reached', 'a/judgment', { turnId: 'a', score: 1 / 3, source: 'reward', advantage: -2 }));
  expect(described()[1]).toBe('0.3333 by reward (return, no own reward), advantage -2');
  on(event('turn.feedback', 'a/return', { turnId: 'a', score: 1, return: { own: 0.5 } }));
  expect(described()[1]).toBe('0.3333 by reward (return, own reward 0.5), advantage -2');
});

test('feedback after the votes shows as the verdict, and its sample as the stage', () => {
  const { on, turns } = new TurnViews();
  const described = () => [describeStage(turns.get('a')!.stage), describeVerdict(turns.get('a')!)];
  on(interaction('a'));
  on(event('judgment.reached', 'a/judgment', { turnId: 'a', score: 1, source: 'votes', hints: [] }));
  on(event('sample.ready', 'a/ready', { sampleId: 'a' }));
  on(event('judgment.revised', 'a/judgment/1', { turnId: 'a', n: 1, score: -1, source: 'feedback' }));
  on(event('sample.ready', 'a~1/ready', { sampleId: 'a~1' }));
  on(event('sample.dropped', 'a/dropped', { sampleId: 'a', reason: 'corrected' }));
  expect(described()).toEqual(['waiting for batch', '-1 by feedback']);
  on(batch(1, 0, 'a~1'));
  on(promoted(1, 0));
  expect(described()[0]).toBe('trained in v1');
  on(event('sample.dropped', 'a~2/dropped', { sampleId: 'a~2', reason: 'no-verdict' }));
  expect(described()[0]).toBe('trained in v1');
});

test('a sample that a training server cannot train does not share the outcome of its batch', () => {
  const { on, turns } = new TurnViews();
  for (const id of ['a', 'b']) {
    on(interaction(id));
    on(event('sample.ready', `${id}/ready`, { sampleId: id }));
  }
  on(
    event('batch.submitted', 'b1', {
      batchId: 'b1',
      n: 1,
      parent: 0,
      samples: [{ sampleId: 'a' }, { sampleId: 'b' }],
    }),
  );
  const leftOut = [{ sampleId: 'b', reason: 'other-temperature' }];
  on(event('policy.trained', 'b1/trained', { batchId: 'b1', version: 1, metrics: {}, leftOut }));
  on(promoted(1, 0));
  expect(['a', 'b'].map((id) => describeStage(turns.get(id)!.stage))).toEqual([
    'trained in v1',
    'not trained: other-temperature',
  ]);
});

test('an inferred hint is shown as inferred', () => {
  const { on, turns } = new TurnViews();
  on(interaction('a'));
  const inferred = 'No lists, please.';
  const judged = { turnId: 'a', score: -1, source: 'votes', hints: [inferred], inferred };
  on(event('judgment.reached', 'a/judgment', judged));
  expect(describeVerdict(turns.get('a')!)).toBe(
    '-1 by votes, hint inferred from other complaints: No lists, please.',
  );
});

test('standing wishes named by a batch are shown', () => {
  const { on, turns } = new TurnViews();
  on(interaction('a'));
  on(event('judgment.reached', 'a/judgment', { turnId: 'a', score: 1, source: 'votes', hints: [] }));
  on(event('batch.submitted', 'b', { batchId: 'b', samples: [{ sampleId: 'a', standing: ['no-list'] }] }));
  expect(describeVerdict(turns.get('a')!)).toBe('1 by votes, with standing wishes: no-list');
});

test('an unheard reaction is known; going on is not a reaction to the answer', () => {
  const { on, turns } = new TurnViews();
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

test('the latest sample of a turn decides its stage, unless an earlier one trained', () => {
  const ready = (sampleId: string) => event('sample.ready', `${sampleId}/ready`, { sampleId });
  const dropped = (sampleId: string, reason: string) =>
    event('sample.dropped', `${sampleId}/dropped`, { sampleId, reason });
  const stageAfter = (...events: readonly ClawLoopEvent[]) => {
    const views = new TurnViews();
    for (const entry of [interaction('a'), ...events]) views.on(entry);
    return describeStage(views.turns.get('a')!.stage);
  };
  const corrected = [ready('a'), ready('a~1'), dropped('a', 'corrected')];
  expect(stageAfter(...corrected)).toBe('waiting for batch');
  expect(stageAfter(...corrected, dropped('a~1', 'stale'))).toBe('not trained: stale');
  const trained = [ready('a'), batch(1, 0, 'a'), promoted(1, 0)];
  expect(stageAfter(...trained, dropped('a~1', 'too-late'))).toBe('trained in v1');
  expect(stageAfter(...trained, ready('a~1'), dropped('a~1', 'stale'))).toBe('trained in v1');
});

test('a turn that is to train again waits, and shows the version that learned from it last', () => {
  const returned = (id: string) =>
    event('batch.returned', id, { batchId: 'b1', samples: [{ sampleId: 'a' }] });
  const dropped = event('sample.dropped', 'a/dropped/r2', {
    ...{ sampleId: 'a', reason: 'already-trained', returned: 'r2' },
  });
  const again = event('batch.submitted', 'b2', { ...batch(2, 0, 'a').data, again: 'b1' });
  const events = [
    interaction('a'),
    batch(1, 0, 'a'),
    promoted(1, 0),
    event('policy.rolled-back', 'x', { from: 1, to: 0 }),
    returned('r1'),
    again,
    promoted(2, 0),
    returned('r1'), // a copy
    returned('r2'),
    dropped,
  ];
  const views = new TurnViews();
  const policy = createPolicyView('default');
  const stages = events.map((one) => {
    views.on(one);
    policy.on(one);
    return describeStage(views.turns.get('a')!.stage);
  });
  expect(stages.slice(4)).toEqual([
    'waiting for batch',
    'in b2',
    'trained in v2',
    'trained in v2',
    'waiting for batch',
    'trained in v2',
  ]);
  expect(policy.versions.get(2)).toMatchObject({ samples: 1, again: 'b1', state: 'promoted' });
});

test('a turn waits as long as one of its samples is to train again', () => {
  const returned = (id: string, batchId: string, sampleId: string) =>
    event('batch.returned', id, { batchId, samples: [{ sampleId }] });
  const dropped = (sampleId: string, by: string) =>
    event('sample.dropped', `${sampleId}/dropped/${by}`, {
      ...{ sampleId, reason: 'already-trained', rule: 'b1', returned: by },
    });
  const again = (n: number, parent: number, sampleId: string, batchId: string) =>
    event('batch.submitted', `b${n}`, { ...batch(n, parent, sampleId).data, again: batchId });
  const start = [
    interaction('a'),
    event('sample.ready', 'a/ready', { sampleId: 'a' }),
    batch(1, 0, 'a'),
    promoted(1, 0),
    event('sample.ready', 'a~1/ready', { sampleId: 'a~1' }),
  ];
  const stagesAfter = (...events: readonly ClawLoopEvent[]) => {
    const views = new TurnViews();
    for (const one of start) views.on(one);
    return events.map((one) => {
      views.on(one);
      const { stage, rule } = views.turns.get('a')!;
      return `${describeStage(stage)}${rule}`;
    });
  };
  // two samples of one turn, in two batches
  const both = [batch(2, 1, 'a~1'), promoted(2, 1), event('policy.rolled-back', 'x', { from: 2, to: 0 })];
  const two = [
    returned('r1', 'b1', 'a'),
    returned('r2', 'b2', 'a~1'),
    again(3, 0, 'a', 'b1'),
    promoted(3, 0),
  ];
  expect(stagesAfter(...both, ...two, again(4, 3, 'a~1', 'b2'), promoted(4, 3)).slice(3)).toEqual([
    'waiting for batch',
    'waiting for batch',
    'in b3',
    'waiting for batch',
    'in b4',
    'trained in v4',
  ]);
  // a training server leaves out the first of the two
  const left = event('policy.trained', 'b3/trained', {
    ...{ batchId: 'b3', leftOut: [{ sampleId: 'a', reason: 'too-long' }] },
  });
  expect(stagesAfter(...both, ...two.slice(0, 3), left).at(-1)).toBe('waiting for batch');
  // a later command replaces an earlier one
  const twice = [
    returned('r1', 'b1', 'a'),
    returned('r2', 'b1', 'a'),
    dropped('a', 'r1'),
    again(3, 0, 'a', 'b1'),
  ];
  expect(stagesAfter(...twice).slice(1)).toEqual(['waiting for batch', 'waiting for batch', 'in b3']);
  // the latest sample of the turn is another one
  const gone = [
    event('sample.dropped', 'a~1/dropped', { sampleId: 'a~1', reason: 'stale' }),
    returned('r1', 'b1', 'a'),
  ];
  expect(stagesAfter(...gone, dropped('a', 'r1'))).toEqual([
    'trained in v1',
    'waiting for batch',
    'trained in v1',
  ]);
});

test('an automatic rollback is shown with its numbers, a late copy once, and one without effect as such', () => {
  const policy = createPolicyView('default');
  const figures = { turns: 9, bad: 9, turnsBefore: 24, badBefore: 6, evidence: 217.4, alpha: 0.01 };
  const data = { from: 2, to: 1, cause: 'automatic', reason: 'since v2, 9 of 9 are bad', figures };
  for (const entry of [
    batch(1, 0, 'a'),
    promoted(1, 0),
    batch(2, 1, 'b'),
    promoted(2, 1),
    event('policy.rolled-back', 't/rolled-back', data),
    event('policy.rolled-back', 't/rolled-back', data),
    event('learning.paused', 't/rolled-back/paused', { rollback: 't/rolled-back', reason: '3 rollbacks' }),
    event('policy.rolled-back', 'o', { from: 2, to: 0 }),
  ])
    policy.on(entry);
  expect([...policy.versions.values()].map(({ state }) => state)).toEqual([
    'promoted',
    'rolled back by verdicts',
  ]);
  expect(policy.rollbacks()).toMatchObject([
    { from: 2, to: 1, cause: 'automatic', figures, hadEffect: true, pause: '3 rollbacks' },
    { from: 2, to: 0, cause: 'operator', hadEffect: false, pause: undefined },
  ]);
});

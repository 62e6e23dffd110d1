import { expect, test } from 'vitest';
import { FeedbackGiven } from '../../shared/events/feedback-given.ts';
import { SessionStarted } from '../../shared/events/session-started.ts';
import { defined } from '../../shared/lang/defined.ts';
import { assemble } from './assemble.ts';
import { feedback, judgment, timeAt } from './testing/events.ts';
import { chain, end, fold } from './testing/rewarded-session.ts';
import { runFold } from './testing/run-fold.ts';

const process = { votes: 3, weight: 0.3 };
const started = (more: Partial<SessionStarted['data']> = { process }) =>
  SessionStarted.create({
    id: 's/started',
    source: 'clawloop/test',
    time: timeAt(0),
    data: { lane: 'lane', key: 'key', session: 's', settle: 'reward', ...more },
  });

type Steps = NonNullable<FeedbackGiven['data']['steps']>;
const compared = (id: string, steps: Steps, interactionId = 'c', advantage?: number) =>
  FeedbackGiven.create({
    id,
    source: 'clawloop/test',
    time: timeAt(0),
    data: { lane: 'lane', key: 'key', interactionId, score: 1, steps, ...defined({ advantage }) },
  });

const stepsOf = (events: Parameters<typeof fold>[0]) =>
  Object.fromEntries(
    fold(events).flatMap((event) =>
      event.type === 'turn.feedback'
        ? [[event.data.turnId, [event.data.advantage, event.data.return!.step, event.data.process]]]
        : [],
    ),
  );

test('if a session asks for votes on its steps, each turn has the terms at its next state, before the end', () => {
  const terms = fold([started(), ...chain, end]).flatMap((event) =>
    event.type === 'turn.completed' ? [[event.data.turnId, event.data.from, event.data.process]] : [],
  );
  expect(terms).toEqual([
    ['a', 'b', process],
    ['b', 'c', process],
  ]);
  expect(fold([...chain, end])[0]!.data).not.toHaveProperty('process');
});

test('the advantage of a step belongs to it alone, and the baseline of its votes is passed on', () => {
  const against = { baseline: 0.5, scale: 1 };
  const steps = [
    { interactionId: 'a', advantage: 0.25, process: against },
    { interactionId: 'b', process: against },
  ];
  expect(stepsOf([started(), ...chain, compared('f', steps, 'c', 2), end])).toEqual({
    a: [2.25, 0.25, against],
    b: [2, undefined, against],
    c: [2, undefined, null],
  });
  // a session that asked for no votes has none, even if its client sends a baseline
  expect(stepsOf([...chain, compared('f', steps), end])).toEqual({
    a: [0.25, 0.25, undefined],
    b: [0, undefined, undefined],
    c: [0, undefined, undefined],
  });
});

test('without steps, votes count as they are; the last list of steps counts despite later rewards', () => {
  const asTheyAre = { baseline: 0, scale: 1 };
  expect(stepsOf([started(), ...chain, feedback({ id: 'f' }, 'c', 1), end])).toEqual({
    a: [undefined, undefined, asTheyAre],
    b: [undefined, undefined, asTheyAre],
    c: [undefined, undefined, asTheyAre],
  });
  const [first, second] = [[{ interactionId: 'a', advantage: 1 }], [{ interactionId: 'a', advantage: 2 }]];
  const later = [
    compared('f1', first, 'b'),
    compared('f2', second, 'c'),
    feedback({ id: 'f3' }, 'c', 0.5),
    feedback({ id: 'f4' }, 'b', 0.5),
  ];
  expect(stepsOf([...chain, ...later, end]).a).toEqual([2, 2, undefined]);
});

test('the samples of a session that weighs as one attempt share the weight of one sample', () => {
  const turns = fold([started({ weigh: 'attempt' }), ...chain, feedback({ id: 'f' }, 'c', 1), end]);
  const judgments = ['a', 'b', 'c'].map((id) =>
    judgment(id, 1, { source: id === 'b' ? 'reward+process' : 'reward' }),
  );
  const weights = (events: typeof turns) =>
    runFold(assemble, [...events, ...judgments], { atLeastOne: false }).emitted.flatMap((event) =>
      event.type === 'sample.ready' ? [[event.data.source, event.data.weight]] : [],
    );
  expect(weights(turns)).toEqual([
    ['reward', 1 / 3],
    ['reward', 1 / 3],
    ['reward', 1 / 3],
  ]);
  const plain = fold([started(), ...chain, feedback({ id: 'f' }, 'c', 1), end]);
  expect(weights(plain)).toEqual([
    ['reward', undefined],
    ['reward', undefined],
    ['reward', undefined],
  ]);
});

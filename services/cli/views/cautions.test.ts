import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { createCautions } from './cautions.ts';

/** Just what the view reads of an event. */
const event = (type: string, id: string, data: object, subject = 'default'): ClawLoopEvent =>
  ({ type, id, subject, time: '2026-01-01T00:00:00Z', data }) as unknown as ClawLoopEvent;

let turn = 0;
/** One turn of somebody's, and the hint that a judge heard in what they said. */
const wished = (key: string, hint: string, user?: string): readonly ClawLoopEvent[] => {
  const id = `t${turn++}`;
  return [
    event('interaction.completed', id, { interactionId: id, adapter: 'default', key, ...(user && { user }) }),
    event('judgment.reached', `${id}/judgment`, { turnId: id, score: -1, source: 'votes', hints: [hint] }),
  ];
};
const told = (events: readonly ClawLoopEvent[]) => {
  const { on, cautions } = createCautions();
  for (const one of events) on(one);
  return cautions().map(({ what, advice }) => (advice === undefined ? what : `${what} -> ${advice}`));
};

test('two people who want the opposite of one adapter are told apart by key, or by the user that is named', () => {
  const ann = [...wished('ann', 'No lists, please.'), ...wished('ann', 'No lists, please.')];
  const bo = [...wished('bo', 'Please use bullet points.'), ...wished('bo', 'Please use bullet points.')];
  expect(told([...ann, ...bo])).toEqual([
    expect.stringMatching(/^ann and bo want the opposite .*--adapters default,second/),
  ]);
  const one = [...wished('k', 'More details, please.', 'cy'), ...wished('k', 'More details, please.', 'cy')];
  const other = [
    ...wished('k', 'A short answer, please.', 'di'),
    ...wished('k', 'A short answer, please.', 'di'),
  ];
  expect(told([...one, ...other])).toEqual([
    expect.stringMatching(/^k \(cy\) and k \(di\) want the opposite/),
  ]);
});

test('one person who changes their mind, a single slip, and wishes that go together are no opposites', () => {
  const list = wished('ann', 'Please use bullet points.');
  expect(
    told([...wished('ann', 'No lists, please.'), ...wished('ann', 'No lists, please.'), ...list]),
  ).toEqual([]);
  expect(told([...wished('ann', 'No lists, please.'), ...wished('bo', 'Please use bullet points.')])).toEqual(
    [],
  );
  const greeting = [...wished('bo', 'No greeting, please.'), ...wished('bo', 'No greeting, please.')];
  expect(
    told([...wished('ann', 'No lists, please.'), ...wished('ann', 'No lists, please.'), ...greeting]),
  ).toEqual([]);
});

const trained = (version: number, metrics: object) =>
  event('policy.trained', `b${version}/trained`, { batchId: `b${version}`, version, metrics });

test('a policy far from its base, one that says ever the same, and steps that are refused deserve a word', () => {
  expect(told([trained(1, { klToBase: 0.02, negativeLogProb: 1.2 })])).toEqual([]);
  expect(told([trained(1, { klToBase: 0.2, negativeLogProb: 1.2 })])[0]).toContain(
    '0.20 nats per token from its base',
  );
  expect(told([trained(1, { negativeLogProb: 1.2 }), trained(2, { negativeLogProb: 0.3 })])[0]).toContain(
    'v2 of default says ever more the same',
  );
  const rejected = (n: number) =>
    event('policy.rejected', `b${n}/rejected`, { batchId: `b${n}`, reason: 'collapse' });
  expect(told([rejected(1), rejected(2), rejected(3)])[0]).toContain(
    'the last 3 steps of default were not served',
  );
  expect(told([rejected(1), rejected(2), event('policy.promoted', 'p', {}), rejected(3)])).toEqual([]);
});

test('a wish that the model does not learn is told until it is taken up again', () => {
  const wish = { adapter: 'default', wish: 'formal', corrections: 12 };
  const aside = event('wish.set-aside', 'w', wish);
  expect(told([aside])[0]).toContain("default does not learn 'formal': 12 corrections, no change");
  expect(told([aside, event('wish.taken-up', 'u', wish)])).toEqual([]);
});

test('a judge that hears neither praise nor complaint is told, after twenty turns', () => {
  const judged = (score: number) =>
    event('judgment.reached', `j${turn}`, { turnId: `t${turn++}`, score, source: 'votes', hints: [] });
  const zeros = (count: number) => Array.from({ length: count }, () => judged(0));
  expect(told(zeros(19))).toEqual([]);
  expect(told([...zeros(19), judged(1)])[0]).toContain(
    '19 of 20 reactions told the judge neither good nor bad',
  );
  expect(told([...zeros(12), ...Array.from({ length: 8 }, () => judged(1))])).toEqual([]);
});

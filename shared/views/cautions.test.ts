import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../events/catalogue.ts';
import { createCautions } from './cautions.ts';

/** The fields of an event that the view reads. */
const event = (type: string, id: string, data: object, subject = 'default'): ClawLoopEvent =>
  ({ type, id, subject, time: '2026-01-01T00:00:00Z', data }) as unknown as ClawLoopEvent;

let turn = 0;
/** One turn of a person, and the judge's hint from their reaction. */
const wished = (key: string, hint: string, user?: string): readonly ClawLoopEvent[] => {
  const id = `t${turn++}`;
  return [
    event('interaction.completed', id, { interactionId: id, adapter: 'default', key, ...(user && { user }) }),
    event('judgment.reached', `${id}/judgment`, { turnId: id, score: -1, source: 'votes', hints: [hint] }),
  ];
};
const cautionsOf = (events: readonly ClawLoopEvent[]) => {
  const { on, cautions } = createCautions();
  for (const entry of events) on(entry);
  return cautions().map(({ what, advice }) => (advice === undefined ? what : `${what} -> ${advice}`));
};

test('two people with opposite wishes are told apart by key, or by the named user', () => {
  const ann = [...wished('ann', 'No lists, please.'), ...wished('ann', 'No lists, please.')];
  const bo = [...wished('bo', 'Please use bullet points.'), ...wished('bo', 'Please use bullet points.')];
  expect(cautionsOf([...ann, ...bo])).toEqual([
    expect.stringMatching(/^ann and bo want opposite things .*--adapters default,second/),
  ]);
  const one = [...wished('k', 'More details, please.', 'cy'), ...wished('k', 'More details, please.', 'cy')];
  const other = [
    ...wished('k', 'A short answer, please.', 'di'),
    ...wished('k', 'A short answer, please.', 'di'),
  ];
  expect(cautionsOf([...one, ...other])).toEqual([
    expect.stringMatching(/^k \(cy\) and k \(di\) want opposite things/),
  ]);
});

test('a change of mind, a single slip, or compatible wishes raise no caution', () => {
  const list = wished('ann', 'Please use bullet points.');
  expect(
    cautionsOf([...wished('ann', 'No lists, please.'), ...wished('ann', 'No lists, please.'), ...list]),
  ).toEqual([]);
  expect(
    cautionsOf([...wished('ann', 'No lists, please.'), ...wished('bo', 'Please use bullet points.')]),
  ).toEqual([]);
  const greeting = [...wished('bo', 'No greeting, please.'), ...wished('bo', 'No greeting, please.')];
  expect(
    cautionsOf([...wished('ann', 'No lists, please.'), ...wished('ann', 'No lists, please.'), ...greeting]),
  ).toEqual([]);
});

const trained = (version: number, metrics: object) =>
  event('policy.trained', `b${version}/trained`, { batchId: `b${version}`, version, metrics });

const live = (to: number) => event('policy.promoted', `b${to}/promoted`, { to });
const back = (to: number) => event('policy.rolled-back', `back to ${to}`, { to });

test('drift, repetitive answers and rejected steps raise cautions', () => {
  expect(cautionsOf([trained(1, { klToBase: 0.02, negativeLogProb: 1.2 }), live(1)])).toEqual([]);
  expect(cautionsOf([trained(1, { klToBase: 0.2, negativeLogProb: 1.2 }), live(1)])[0]).toContain(
    'v1 of default answers very differently from its base (0.20 nats per token)',
  );
  const narrow = (more: object) =>
    cautionsOf([
      trained(1, { negativeLogProb: 1.2 }),
      trained(2, { negativeLogProb: 0.3, ...more }),
      live(2),
    ]);
  expect(narrow({})[0]).toContain('v2 of default may repeat itself');
  expect(narrow({ canaryDistinct: 1 })).toEqual([]);
  const rejected = (n: number) =>
    event('policy.rejected', `b${n}/rejected`, { batchId: `b${n}`, reason: 'collapse' });
  expect(cautionsOf([rejected(1), rejected(2), rejected(3)])[0]).toContain(
    'the last 3 steps of default were rejected',
  );
  expect(cautionsOf([rejected(1), rejected(2), event('policy.promoted', 'p', {}), rejected(3)])).toEqual([]);
});

test('only the live version raises cautions', () => {
  const far = [trained(1, { klToBase: 0.02 }), live(1), trained(2, { klToBase: 0.5 })];
  expect(cautionsOf(far)).toEqual([]);
  expect(cautionsOf([...far, live(2)])[0]).toContain('v2 of default');
  expect(cautionsOf([...far, live(2), back(1)])).toEqual([]);
  expect(cautionsOf([...far, live(2), back(1), back(2)])[0]).toContain('v2 of default');
  expect(cautionsOf([...far, live(2), back(0)])).toEqual([]);
});

test('an unlearned wish is reported until it is taken up again', () => {
  const wish = { adapter: 'default', wish: 'formal', corrections: 12 };
  const aside = event('wish.set-aside', 'w', wish);
  expect(cautionsOf([aside])[0]).toContain("default does not learn 'formal': 12 corrections without effect");
  expect(cautionsOf([aside, event('wish.taken-up', 'u', wish)])).toEqual([]);
});

test('a judge that hears nothing is reported after twenty turns', () => {
  const judged = (score: number) =>
    event('judgment.reached', `j${turn}`, { turnId: `t${turn++}`, score, source: 'votes', hints: [] });
  const zeros = (count: number) => Array.from({ length: count }, () => judged(0));
  expect(cautionsOf(zeros(19))).toEqual([]);
  expect(cautionsOf([...zeros(19), judged(1)])[0]).toContain(
    'heard 19 of 20 reactions as neither good nor bad',
  );
  expect(cautionsOf([...zeros(12), ...Array.from({ length: 8 }, () => judged(1))])).toEqual([]);
});

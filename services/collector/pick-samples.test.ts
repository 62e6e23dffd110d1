import { expect, test } from 'vitest';
import { type EligibleSample, type PickOptions, pickSamples } from './pick-samples.ts';

type Given = Partial<Pick<EligibleSample, 'key' | 'session' | 'version' | 'whole'>>;

/** Samples in order of arrival, each in its own session by default. */
const rows = (...given: readonly (readonly [id: string, sample: Given])[]) =>
  given.map(([sampleId, sample], offset): readonly [string, EligibleSample] => [
    String(offset).padStart(3, '0'),
    { sampleId, at: { partition: 0, offset }, session: `session of ${sampleId}`, version: 0, ...sample },
  ]);
const many = (key: string, count: number, sample: Given = {}) =>
  Array.from({ length: count }, (_, index) => [`${key}${index + 1}`, { key, ...sample }] as const);

const options: PickOptions = { size: 4, most: 4, share: 0.5, batchesLeft: () => 5 };
const ids = (...[samples, more]: readonly [ReturnType<typeof rows>, Partial<PickOptions>?]) =>
  pickSamples(samples, { ...options, ...more }).batch.map(([, { sampleId }]) => sampleId);

test('samples train in order of arrival, within a batch and across batches', () => {
  const samples = rows(...many('a', 6));
  expect(ids(samples)).toEqual(['a1', 'a2', 'a3', 'a4']);
  // A sample that must go now is in the batch, in order of arrival.
  const old = rows(...many('a', 4, { version: 1 }), ['late', { key: 'a', version: 0 }], ...many('b', 1));
  const batchesLeft = (version: number) => (version === 0 ? 1 : 5);
  expect(ids(old, { batchesLeft })).toEqual(['a1', 'a2', 'late', 'b1']);
});

test('a key with many sessions gets no more than its share while others wait', () => {
  const samples = rows(...many('flood', 5), ...many('other', 2), ...many('flood-late', 5));
  expect(ids(samples)).toEqual(['flood1', 'flood2', 'other1', 'other2']);
  const two = rows(...many('flood', 10), ...many('other', 2));
  expect(ids(two, { share: 0.25 })).toEqual(['flood1', 'flood2', 'flood3', 'other1']);
  expect(ids(two, { share: 1 })).toEqual(['flood1', 'flood2', 'flood3', 'flood4']);
});

test('a sample that must train now counts towards the share', () => {
  const samples = rows(...many('flood', 20), ...many('other', 2, { version: 1 }));
  const batchesLeft = (version: number) => (version === 0 ? 5 : 3);
  expect(ids(samples, { batchesLeft }).filter((id) => id.startsWith('other'))).toHaveLength(2);
});

test('the only access key fills the batch, and each of its sessions has its share', () => {
  const longSession = { key: 'mine', session: 'long' };
  const samples = rows(...many('mine', 6, longSession), ['a', { key: 'mine' }], ['b', { key: 'mine' }]);
  expect(ids(samples)).toEqual(['mine1', 'mine2', 'a', 'b']);
  expect(ids(rows(...many('mine', 6, longSession)))).toEqual(['mine1', 'mine2', 'mine3', 'mine4']);
});

test('the batch is filled even if the others have too few samples', () => {
  expect(ids(rows(...many('flood', 10), ...many('other', 1)))).toEqual([
    'flood1',
    'flood2',
    'flood3',
    'other1',
  ]);
});

test('a rewarded session stays whole even beyond the share of its key', () => {
  const attempt = { session: 'attempt', whole: true } as const;
  const samples = rows(...many('agent', 3, attempt), ...many('agent-late', 1), ...many('other', 5));
  expect(ids(samples)).toEqual(['agent1', 'agent2', 'agent3', 'agent-late1']);
  expect(ids(rows(...many('agent', 3, attempt), ...many('other', 5)))).toEqual([
    'agent1',
    'agent2',
    'agent3',
    'other1',
  ]);
});

test('if too many wait, the newest train, and older ones of the same person never do', () => {
  const samples = rows(
    ...[many('a', 3, { session: 's' }), many('b', 1), many('a', 2, { session: 't' })].flat(),
    ...many('whole', 2, { key: 'a', whole: true, session: 'w' }),
    ...many('a', 1, { session: 'u' }),
  );
  const { batch, overtaken } = pickSamples(samples, { ...options, size: 2, most: 2, batchesLeft: () => 1 });
  const named = (picked: typeof batch) => picked.map(([, { sampleId, session }]) => `${sampleId} ${session}`);
  expect(named(batch)).toEqual(['b1 session of b1', 'a1 u']);
  // Rewards do not show a change of mind.
  expect(named(overtaken)).toEqual(['a1 s', 'a2 s', 'a3 s', 'a1 t', 'a2 t']);
  expect(pickSamples(samples, options).overtaken).toEqual([]);
});

test('samples of earlier versions without a key train as before', () => {
  const samples = rows(...['a', 'b', 'c', 'd', 'e'].map((id) => [id, {}] as const));
  expect(ids(samples)).toEqual(['a', 'b', 'c', 'd']);
});

import { expect, test } from 'vitest';
import { type EligibleSample, type PickOptions, pickSamples } from './pick-samples.ts';

type Given = Partial<Pick<EligibleSample, 'key' | 'session' | 'version' | 'whole'>>;

/** Samples in order of arrival, each of a session of its own unless told. */
const rows = (...given: readonly (readonly [id: string, sample: Given])[]) =>
  given.map(([sampleId, sample], offset): readonly [string, EligibleSample] => [
    String(offset).padStart(3, '0'),
    { sampleId, at: { partition: 0, offset }, session: `session of ${sampleId}`, version: 0, ...sample },
  ]);
const many = (key: string, count: number, sample: Given = {}) =>
  Array.from({ length: count }, (_, index) => [`${key}${index + 1}`, { key, ...sample }] as const);

const options: PickOptions = { size: 4, most: 4, share: 0.5, batchesLeft: () => 5 };
const ids = (...[samples, more]: readonly [ReturnType<typeof rows>, Partial<PickOptions>?]) =>
  pickSamples(samples, { ...options, ...more }).map(([, { sampleId }]) => sampleId);

test('an access key with many sessions has no more than its share while others wait', () => {
  const samples = rows(...many('other', 2), ...many('flood', 20));
  expect(ids(samples)).toEqual(['flood20', 'flood19', 'other2', 'other1']);
  expect(ids(samples, { share: 0.25 })).toEqual(['flood20', 'other2', 'flood19', 'flood18']);
  expect(ids(samples, { share: 1 })).toEqual(['flood20', 'flood19', 'flood18', 'flood17']);
});

test('one that has to be trained now, lest it grow too old, counts against the share as well', () => {
  const samples = rows(...many('flood', 20), ...many('other', 2, { version: 1 }));
  const batchesLeft = (version: number) => (version === 0 ? 5 : 3);
  expect(ids(samples, { batchesLeft }).filter((id) => id.startsWith('other'))).toHaveLength(2);
});

test('the only access key fills the batch, and each of its sessions has its share as before', () => {
  const one = { key: 'mine', session: 'long' };
  const samples = rows(['a', { key: 'mine' }], ['b', { key: 'mine' }], ...many('mine', 6, one));
  expect(ids(samples)).toEqual(['mine6', 'mine5', 'b', 'a']);
  expect(ids(rows(...many('mine', 6, one)))).toEqual(['mine6', 'mine5', 'mine4', 'mine3']);
});

test('where the others have too few samples the batch is filled all the same', () => {
  expect(ids(rows(...many('other', 1), ...many('flood', 20)))).toEqual([
    'flood20',
    'flood19',
    'other1',
    'flood18',
  ]);
});

test('a rewarded session stays whole, though it is more than the share of its key', () => {
  const attempt = { session: 'attempt', whole: true } as const;
  const samples = rows(...many('other', 5), ...many('agent', 3, attempt), ...many('agent-late', 1));
  expect(ids(samples).toSorted()).toEqual(['agent-late1', 'agent1', 'agent2', 'agent3']);
  const again = rows(...many('other', 5), ...many('agent', 3, attempt));
  expect(ids(again)).toEqual(['agent3', 'agent2', 'agent1', 'other5']);
});

test('samples of an earlier version, which name no key, train as they did', () => {
  const samples = rows(...['a', 'b', 'c', 'd', 'e'].map((id) => [id, {}] as const));
  expect(ids(samples)).toEqual(['e', 'd', 'c', 'b']);
});

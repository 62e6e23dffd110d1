import { expect, test } from 'vitest';
import { type ChainedRecord, emptyChain, linkAfter } from '../chain.ts';
import { type ReadSoFar, readFrom, readOn } from './read-so-far.ts';
import { type GroupRead, openRewrittenRun } from './rewrite-chains.ts';

const record = (offset: number, body = `secret ${offset}`): ChainedRecord => ({
  ...{ offset, time: 1_000 + offset, type: 'told', subject: 'lane', body },
});
/** With gaps, as markers of transactions leave them. */
const records = [0, 1, 3, 4, 7].map((offset) => record(offset));
const erased = (one: ChainedRecord): ChainedRecord => ({ ...one, body: 'erased' });
const isErased = ({ offset }: ChainedRecord) => offset === 1 || offset === 4;
const rewritten = records.map((one) => (isErased(one) ? erased(one) : one));

const chain = (some: readonly ChainedRecord[], before = emptyChain) =>
  some.reduce((link, one) => linkAfter(link, [one]), before);
const readOf = (some: readonly ChainedRecord[], from: number, to: number): ReadSoFar =>
  readOn(
    readFrom(from),
    some.filter(({ offset }) => offset >= from && offset < to),
  );
const group = (from: number, position: number): GroupRead => ({
  ...{ group: `from ${from}`, position, read: readOf(records, from, position) },
});

function rewrite(
  groups: readonly GroupRead[],
  all: readonly ChainedRecord[] = records,
  { start = 0, head = '' } = {},
) {
  const place = { topic: 'turns', partition: 2 } as const;
  const trims = start === 0 ? [] : [{ ...place, from: 0, to: start, head }];
  const run = openRewrittenRun({ ...place, start }, trims, groups);
  for (const one of all) run.add(one, isErased(one) ? erased(one) : one);
  return run.end(9);
}

test('the chain is computed as it is and as it will be, from the first record', () => {
  const { before, after, rewritten: changed, chain: begin } = rewrite([]);
  expect([before, after]).toEqual([chain(records), chain(rewritten)]);
  expect(changed).toEqual({ topic: 'turns', partition: 2, first: 1, to: 9, records: 2, before, after });
  expect(begin).toEqual({ from: 0, link: emptyChain });
  expect(rewrite([], [records[0]!]).rewritten).toBeUndefined();
});

test('groups have read what is there afterwards, wherever they began and stand', () => {
  const groups = [group(0, 9), group(0, 2), group(3, 5), group(0, 0)].map((one, index) => ({
    ...one,
    group: `group ${index}`,
  }));
  const { reads } = rewrite(groups);
  for (const { group: name, read, position } of groups)
    expect(reads.get(name)).toEqual(readOf(rewritten, read.from, position));
});

test('of a trimmed partition, the rest is computed from the link that the trim recorded', () => {
  const kept = records.slice(2);
  const head = chain(records.slice(0, 2));
  const { before, after, reads, chain: begin } = rewrite([group(0, 9)], kept, { start: 3, head });
  expect(before).toBe(chain(records));
  expect(after).toBe(chain(rewritten.slice(2), head));
  expect(begin).toEqual({ from: 0, link: head });
  const read = reads.get('from 0')!;
  expect(read.link).toBe(after);
  expect(read.points.every(([offset]) => offset >= 3)).toBe(true);
});

test.each([
  ['a record was changed', records.map((one) => (one.offset === 3 ? record(3, 'forged') : one))],
  ['a record was removed', records.filter(({ offset }) => offset !== 3)],
  ['the last record was removed', records.slice(0, -1)],
])('nothing is rewritten when %s', (_, all) => {
  expect(() => rewrite([group(0, 9)], all)).toThrow(/not those that were appended/);
});

test('nothing is rewritten when the first records are missing without a recorded trim', () => {
  const run = { topic: 'turns', partition: 2, start: 3 } as const;
  expect(() => openRewrittenRun(run, [], [])).toThrow(/no trim to 3 is recorded/);
});

import { expect, test } from 'vitest';
import { emptyChain, linkAfter } from '../chain.ts';
import { pointOf, readFrom, readOn } from './read-so-far.ts';

const record = (offset: number, body = `{"n":${offset}}`) => ({
  offset,
  time: 1_700_000_000_000,
  type: 'a.b',
  subject: 'lane',
  body,
});
const many = (count: number) => Array.from({ length: count }, (_, n) => record(n));

test('the link does not depend on how many records are read at a time, and every record changes it', () => {
  const all = readOn(readFrom(0), many(20));
  const byOne = many(20).reduce((read, one) => readOn(read, [one]), readFrom(0));
  const byThree = [0, 3, 6, 9, 12, 15, 18].reduce(
    (read, from) => readOn(read, many(20).slice(from, from + 3)),
    readFrom(0),
  );
  expect(new Set([all.link, byOne.link, byThree.link]).size).toBe(1);
  for (let n = 0; n < 20; n += 1) {
    const changed = many(20).map((one) => (one.offset === n ? record(n, '{"n":-1}') : one));
    expect(readOn(readFrom(0), changed).link).not.toBe(all.link);
    expect(
      readOn(
        readFrom(0),
        many(20).filter(({ offset }) => offset !== n),
      ).link,
    ).not.toBe(all.link);
  }
});

test('no two lists of records have the same text', () => {
  const of = (...bodies: readonly string[]) =>
    linkAfter(
      emptyChain,
      bodies.map((body) => record(0, body)),
    );
  expect(of('ab', 'c')).not.toBe(of('a', 'bc'));
  expect(of(`a${'\n'}0 1700000000000 3 4 1 a.b lane c`)).not.toBe(of('a', 'c'));
});

test('of a long history a few points are kept: the last record, and some at every distance', () => {
  let read = readFrom(0);
  for (const one of many(5_000)) read = readOn(read, [one]);
  const offsets = read.points.map(([offset]) => offset);
  expect(offsets.length).toBeLessThan(30);
  expect(read.points.at(-1)).toEqual(pointOf(record(4_999)));
  // after a loss of n records no more than about 4n have to be read again
  for (let lost = 1; lost < 4_000; lost += 1) {
    const intact = offsets.findLast((offset) => offset < 5_000 - lost) ?? 0;
    expect(5_000 - intact).toBeLessThanOrEqual(4 * lost + 4);
  }
});

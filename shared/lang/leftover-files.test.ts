import { mkdir, mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { leftoversIn } from './leftover-files.ts';
import { excessOf } from './leftovers.ts';

const one = (path: string, since: number, bytes: number) => ({ path, since, bytes });
const why = (...of: Parameters<typeof excessOf>) => excessOf(...of).map(({ path, reason }) => [path, reason]);

test('old ones go, then the oldest until the rest fits', () => {
  const all = [one('c', 30, 5), one('a', 10, 4), one('b', 20, 3)];
  expect(why(all, { maxAgeMs: 100, maxBytes: 12 }, 100)).toEqual([]);
  expect(why(all, { maxAgeMs: 85, maxBytes: 12 }, 100)).toEqual([['a', 'age']]);
  expect(why(all, { maxAgeMs: 100, maxBytes: 11 }, 100)).toEqual([['a', 'size']]);
  expect(why(all, { maxAgeMs: 85, maxBytes: 5 }, 100)).toEqual([
    ['a', 'age'],
    ['b', 'size'],
  ]);
  expect(why(all, { maxAgeMs: 100, maxBytes: 0 }, 100).map(([path]) => path)).toEqual(['a', 'b', 'c']);
});

test('the age counts from the rename, and a folder has the size of all its files', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-leftovers-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, 'old', 'inner'), { recursive: true });
  await writeFile(join(folder, 'old', 'inner', 'file'), 'x'.repeat(100));
  await writeFile(join(folder, 'old', 'file'), 'x'.repeat(10));
  const longAgo = new Date('2001-01-01T00:00:00Z');
  await utimes(join(folder, 'old'), longAgo, longAgo);
  await rename(join(folder, 'old'), join(folder, '.aside-old'));
  const [found, ...more] = await leftoversIn(folder, (name) => name.startsWith('.aside-'));
  expect(more).toEqual([]);
  expect(found).toMatchObject({ path: join(folder, '.aside-old'), bytes: 110 });
  expect(found!.since).toBeGreaterThan(longAgo.getTime());
  expect(await leftoversIn(join(folder, 'none'), () => true)).toEqual([]);
});

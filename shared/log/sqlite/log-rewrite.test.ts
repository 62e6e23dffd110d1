import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FeedbackGiven } from '../../events/feedback-given.ts';
import { LogTrimmed } from '../../events/log-trimmed.ts';
import { readTrims } from '../../retention/read-trims.ts';
import type { PlacedRecord, Rewriting } from '../log-contents.ts';
import { chainOf } from '../verify-chain.ts';
import { openForRewriting, readContents } from './log-rewrite.ts';
import { openSqliteLog } from './open-sqlite-log.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-rewrite-'));
  const log = await open();
  await log.append([feedback('a', 'first'), feedback('b', 'other')]);
  await log.append([feedback('a', `secret ${'long '.repeat(2_000)}`)]);
  await log.append([feedback('b', 'last'), feedback('a', 'secret')]);
  await log.close();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const open = () => openSqliteLog({ folder, partitions: 2 });
let ids = 0;
const feedback = (lane: string, comment: string) =>
  FeedbackGiven.create({
    id: `f${ids++}`,
    source: 'clawloop/test',
    time: '2026-03-01T12:00:00.000Z',
    data: { interactionId: 'i', lane, key: 'k', score: 1, comment },
  });
const rewriting: Rewriting = {
  record: ({ body }: PlacedRecord) =>
    body.includes('secret') ? body.replace(/secret[^"]*/, 'erased') : undefined,
  row: () => undefined,
  fact: () => feedback('a', 'says so'),
};
const bodies = () => {
  const contents = readContents(folder);
  try {
    return [...contents.records()].map(({ body }) => JSON.parse(body).data.comment as string);
  } finally {
    contents.close();
  }
};
const bytesHold = async (word: string): Promise<boolean> => {
  const names = (await readdir(folder)).filter((name) => name.startsWith('log.sqlite'));
  const files = await Promise.all(names.map((name) => readFile(join(folder, name))));
  return files.some((bytes) => bytes.includes(word));
};
const brokenChains = async () => {
  const log = await open();
  try {
    return (await log.verify('conversations')).flatMap(({ broken }) => broken ?? []);
  } finally {
    await log.close();
  }
};

test('records keep their places, the chains are computed again, and no byte is left', async () => {
  expect(await bytesHold('secret')).toBe(true);
  const log = openForRewriting(folder)!;
  expect(log.rewrite(rewriting)).toMatchObject({ data: { comment: 'says so' } });
  log.compact();
  log.close();
  expect(bodies().sort()).toEqual(['erased', 'erased', 'first', 'last', 'other', 'says so']);
  expect(await bytesHold('secret')).toBe(false);
  expect(await bytesHold('first')).toBe(true);
  expect(await brokenChains()).toEqual([]);
});

test('the event knows the heads before and after, as an audit computes them', async () => {
  const before = await open();
  const noted = await before.verify('conversations');
  await before.close();
  const log = openForRewriting(folder)!;
  let chains: readonly { readonly partition: number; readonly before: string; readonly to: number }[] = [];
  log.rewrite({
    ...rewriting,
    fact: (done) => {
      chains = done.chains;
      return feedback('b', 'says so');
    },
  });
  log.close();
  expect(chains.length).toBeGreaterThan(0);
  for (const { partition, before: head, to } of chains) expect(noted[partition]).toMatchObject({ head, to });
});

test('nothing is appended if nothing changes', () => {
  const log = openForRewriting(folder)!;
  expect(log.rewrite({ ...rewriting, record: () => undefined })).toBeUndefined();
  log.close();
  expect(bodies()).toHaveLength(5);
});

test('the log is not rewritten beside a service', async () => {
  const service = await open();
  expect(openForRewriting(folder)).toBeUndefined();
  await service.append([feedback('a', 'still works')]);
  await service.close();
  expect(bodies()).toContain('still works');
});

test('a chain that does not fit its records is not covered up', async () => {
  const db = new DatabaseSync(join(folder, 'log.sqlite'));
  db.exec(`UPDATE records SET body = replace(body, 'first', 'forged')`);
  db.close();
  const log = openForRewriting(folder)!;
  expect(() => log.rewrite(rewriting)).toThrow(/not those that were appended/);
  log.close();
  expect(await brokenChains()).toHaveLength(1);
  expect(await bytesHold('secret')).toBe(true);
});

test.each([
  ['in the transaction', 'rewriting.fact = () => process.kill(process.pid, "SIGKILL")', 0],
  ['before the file is written anew', 'after = () => process.kill(process.pid, "SIGKILL")', 2],
])('after a kill %s, a second run ends the work', async (_, dies, erased) => {
  const module = new URL('./log-rewrite.ts', import.meta.url).href;
  const script = `import { openForRewriting } from ${JSON.stringify(module)};
    let after = () => {};
    const rewriting = {
      record: ({ body }) => (body.includes('secret') ? body.replace(/secret[^"]*/, 'erased') : undefined),
      row: () => undefined,
      fact: () => (${JSON.stringify(feedback('a', 'says so'))}),
    };
    ${dies};
    const log = openForRewriting(${JSON.stringify(folder)});
    log.rewrite(rewriting);
    after();
    log.compact();`;
  const { signal } = spawnSync(process.execPath, ['--input-type=module', '-e', script]);
  expect(signal).toBe('SIGKILL');
  expect(bodies().filter((comment) => comment === 'erased')).toHaveLength(erased);
  expect(await brokenChains()).toEqual([]);
  const log = openForRewriting(folder)!;
  log.rewrite(rewriting);
  log.compact();
  log.close();
  expect(await bytesHold('secret')).toBe(false);
  expect(bodies().filter((comment) => comment === 'says so')).toHaveLength(1);
  expect(await brokenChains()).toEqual([]);
});

/** Appends more, and cuts the first partition that can be cut at its last place. */
async function trimSome(isTold: boolean): Promise<void> {
  const log = await open();
  await log.append([feedback('a', 'more'), feedback('b', 'more')]);
  await log.append([feedback('a', 'late secret'), feedback('b', 'late secret')]);
  for (const partition of [0, 1]) {
    const place = (await log.retention.outline('conversations', partition)).places.at(-1);
    if (place === undefined) continue;
    const at = { partition, offset: place.offset };
    const chain = await log.retention.chainAt('conversations', at);
    const data = {
      topic: 'conversations' as const,
      partition,
      from: 0,
      to: place.offset,
      before: new Date(place.time).toISOString(),
      bytes: place.bytes,
      chain: { from: chain.from, link: chain.head },
    };
    const time = '2026-03-02T12:00:00.000Z';
    if (isTold)
      await log.append([LogTrimmed.create({ id: `trim/${partition}`, source: 'clawloop/test', time, data })]);
    await log.retention.cut('conversations', at);
  }
  await log.close();
}

test('of a trimmed log, the rest is rewritten from the link that the trim recorded', async () => {
  await trimSome(true);
  expect(await bytesHold('late secret')).toBe(true);
  const log = openForRewriting(folder)!;
  expect(log.rewrite(rewriting)).toBeDefined();
  log.compact();
  log.close();
  expect(await bytesHold('secret')).toBe(false);
  const after = await open();
  const trims = (await readTrims(after)).map(chainOf);
  const chains = await after.verify('conversations', undefined, trims);
  const starts = await after.starts('conversations');
  await after.close();
  expect(starts.some((start) => start > 0)).toBe(true);
  expect(chains.flatMap(({ broken }) => broken ?? [])).toEqual([]);
});

test('a log whose first records are missing without a recorded trim is not rewritten', async () => {
  await trimSome(false);
  const log = openForRewriting(folder)!;
  expect(() => log.rewrite(rewriting)).toThrow('are not those that were appended');
  log.close();
});

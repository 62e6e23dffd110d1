import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { SessionStarted } from '../../shared/events/session-started.ts';
import { dataFolder } from '../../shared/runtime/data-folder.ts';
import type { Engine } from './generation.ts';
import { createLeftovers } from './leftovers.ts';

const DAY = 86_400_000;
const limit = { maxAgeMs: 30 * DAY, maxBytes: 1_000 };

async function emptyFolder() {
  const data = dataFolder(await mkdtemp(join(tmpdir(), 'clawloop-leftovers-')));
  onTestFinished(() => rm(data.root, { recursive: true, force: true }));
  const said: { readonly path: string; readonly reason: string }[] = [];
  const logger = { info: (fields: object) => void said.push(fields as never), debug: () => {} };
  /** Tidies as if it were some days later. */
  const tidy = (days: number, withAdapterNames?: Engine['withAdapterNames']): Promise<void> =>
    createLeftovers({
      data,
      limit,
      engine: withAdapterNames === undefined ? {} : { withAdapterNames },
      logger: logger as never,
      now: () => Date.now() + days * DAY,
    }).tidy();
  return { data, said, tidy };
}

test('events that were set aside go by age and size; waiting ones and those of a newer version stay', async () => {
  const { data, said, tidy } = await emptyFolder();
  await tidy(31); // there is no folder yet
  await mkdir(data.outbox);
  const put = (name: string, text: string) => writeFile(join(data.outbox, name), text);
  const event = SessionStarted.create({
    id: 'started',
    source: 'clawloop/test',
    time: '2026-01-01T00:00:00Z',
    data: { lane: 'lane', key: 'k', session: 's', settle: 'votes' },
  });
  await put('1-a.json', '{"waits');
  await put('2-a.json.broken', '{"no json');
  await put('3-a.json.broken', JSON.stringify({ ...event, dataschema: 'clawloop:session.started:99' }));
  await tidy(29);
  expect(await readdir(data.outbox)).toHaveLength(3);
  await put('4-a.json.broken', 'x'.repeat(2_000));
  await tidy(29);
  expect(said.map(({ reason }) => reason)).toEqual(['size', 'size']);
  expect((await readdir(data.outbox)).sort()).toEqual(['1-a.json', '3-a.json.broken']);
  await put('5-a.json.broken', 'x');
  await tidy(31);
  expect((await readdir(data.outbox)).sort()).toEqual(['1-a.json', '3-a.json.broken']);
  expect(said.at(-1)).toMatchObject({ path: join(data.outbox, '5-a.json.broken'), reason: 'age' });
});

test('copies of adapters go when no engine lists them, and never while the engine does not answer', async () => {
  const { data, said, tidy } = await emptyFolder();
  const copy = async (adapter: string, version: number) => {
    const name = `clawloop-${adapter}-v${version}-0123abcd`;
    await mkdir(join(data.adapters(adapter), name), { recursive: true });
    await writeFile(join(data.adapters(adapter), name, 'adapter_model.safetensors'), 'x'.repeat(400));
    return name;
  };
  const names = [await copy('default', 1), await copy('default', 2), await copy('other', 1)];
  await writeFile(join(data.adaptersOfAll, 'notes.txt'), 'of the operator');
  const there = async () =>
    (await readdir(data.adaptersOfAll, { recursive: true }))
      .filter((path) => /v\d+/.test(path) && !path.endsWith('.safetensors'))
      .sort();
  const all = await there();
  expect(all).toHaveLength(3);
  await tidy(31, () => Promise.reject(new Error('away')));
  expect(await there()).toEqual(all);
  const listed = new Set([names[1]!]);
  await tidy(29, (work) => work(listed));
  expect(await there()).toEqual(all);
  await tidy(31, (work) => work(listed));
  expect(await there()).toEqual([`default/${names[1]}`]);
  expect(said.map(({ reason }) => reason)).toEqual(['age', 'age']);
  // marked as in use, for another serving that shares the folder
  const marked = await stat(join(data.adapters('default'), names[1]!));
  expect(marked.mtimeMs).toBeGreaterThan(Date.now() + 30 * DAY);

  // by size only those that nobody has used for a day
  for (const version of [3, 4, 5]) await copy('default', version);
  await tidy(0);
  expect(await there()).toHaveLength(4);
  await tidy(2);
  expect(said.slice(2).map(({ reason }) => reason)).toEqual(['size', 'size']);
  await tidy(31);
  expect(await there()).toEqual([]);
});

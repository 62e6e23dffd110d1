import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { event, interaction } from '../audit/testing/facts.ts';
import { findFiles } from './files.ts';
import { selectionOf } from './selection.ts';
import { openSurvey } from './survey.ts';

const LONG = 'Where does the zanzibarquokka sleep at night?';
const words = (id: string, data = {}) => {
  const made = interaction(id, true, 0, { messages: [{ role: 'user', content: LONG }], ...data });
  if (made.type !== 'interaction.completed') throw new Error('not a request');
  return made;
};

/** What an erasure of the session `chat-a` finds in a data folder. */
async function search(fill: (folder: string) => Promise<void>) {
  const root = await mkdtemp(join(tmpdir(), 'clawloop-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const data = dataFolder(root);
  await mkdir(data.outbox);
  await writeFile(join(data.outbox, '0-a.json'), JSON.stringify(words('hers', { key: 'hers' })));
  await fill(data.outbox);
  const { on, survey } = openSurvey();
  on(words('a'));
  on(event('turn.skipped', 'a/skipped', { turnId: 'a', reason: 'side', by: 'a', session: 'chat-a' }));
  const target = { scope: 'session', name: 'chat-a', key: 'mine' } as const;
  return findFiles(data, selectionOf(survey, target, new Set(['a'])), new Set([LONG]));
}

test('a waiting request that names no session may continue the erased one', async () => {
  const { waiting, removed } = await search(async (folder) => {
    await writeFile(join(folder, '1-a.json'), JSON.stringify(words('b')));
  });
  expect(waiting).toHaveLength(1);
  expect(removed).toEqual([]);
});

test('what was set aside, and what a kill left, goes if it repeats words', async () => {
  const { waiting, removed } = await search(async (folder) => {
    await writeFile(join(folder, '1-a.json.broken'), JSON.stringify(words('c')));
    await writeFile(join(folder, '2-a.json.7.part'), `{"messages":[{"content":"${LONG}`);
    await writeFile(
      join(folder, '3-a.json.broken'),
      '{"messages":[{"content":"Something else entirely, of somebody"',
    );
  });
  expect(waiting).toEqual([]);
  expect(removed.map((path) => path.slice(path.lastIndexOf('/') + 1))).toEqual([
    '1-a.json.broken',
    '2-a.json.7.part',
  ]);
});

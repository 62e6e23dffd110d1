import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { contentText, isHuman } from '../../../shared/chat/message.ts';
import { builtRequests } from '../../openclaw-requests/built-requests.ts';
import { recordedPrompts } from './recorded-prompts.ts';

const rules = 'Keep the house in order. '.repeat(100);
const reminder = '<system-reminder>\nIt is noon.\n</system-reminder>';

async function folderWith(files: Readonly<Record<string, unknown>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'clawloop-recordings-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const folder = join(root, 'recordings');
  await mkdir(folder);
  for (const [name, value] of Object.entries(files))
    await writeFile(join(folder, `${name}.json`), JSON.stringify(value));
  return folder;
}

test('for each program and API, the person’s words can be replaced', async () => {
  const turns = [{ role: 'user', content: 'one?' }];
  const longer = [...turns, { role: 'assistant', content: 'One.' }, { role: 'user', content: 'two?' }];
  const parts = [
    { type: 'text', text: reminder },
    { type: 'text', text: 'one?' },
  ];
  const title = { path: '/v1/messages', body: { system: 'Write a title.', messages: turns } };
  const folder = await folderWith({
    house: builtRequests()['tool-loop'],
    anthropic: [
      title,
      { path: '/v1/messages', body: { system: rules, messages: [{ role: 'user', content: parts }] } },
      { path: '/v1/messages', body: { system: [{ type: 'text', text: rules }], messages: longer } },
    ],
    openai: [{ path: '/v1/responses', body: { instructions: rules, input: longer } }],
  });
  const prompts = recordedPrompts([folder, join(folder, 'none')]);
  expect(prompts.map(({ program, which }) => `${program} ${which}`)).toEqual([
    'anthropic first',
    'anthropic last',
    'house first',
    'openai first',
  ]);
  const asked = prompts.map(({ asking }) => asking('Why?').findLast(isHuman)!);
  expect(asked.map(({ content }) => contentText(content).replace(/^\[.*?\] /, ''))).toEqual([
    `${reminder}Why?`,
    'Why?',
    'Why?',
    'Why?',
  ]);
});

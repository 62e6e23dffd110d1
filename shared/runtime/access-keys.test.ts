import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createAccessKey, readAccessKeys, removeAccessKey } from './access-keys.ts';

let path: string;
beforeEach(async () => {
  const root = await mkdtemp(join(tmpdir(), 'clawloop-access-keys-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  path = join(root, 'keys.json');
});

const ids = async () => (await readAccessKeys(path)).map(({ id }) => id).sort();

test('concurrent creation and removal loses no key and restores none', async () => {
  for (let round = 0; round < 5; round++) {
    const old = await createAccessKey(path, 'old');
    const before = (await ids()).filter((id) => id !== old.id);
    const [removed, ...made] = await Promise.all([
      removeAccessKey(path, old.id),
      ...Array.from({ length: 8 }, (_, at) => createAccessKey(path, `new-${at}`)),
    ]);
    expect(removed).toBe(true);
    expect(await ids()).toEqual([...before, ...made.map(({ id }) => id)].sort());
  }
});

test('several processes do not lose keys either', async () => {
  const script = `
    const { createAccessKey, removeAccessKey } = await import(${JSON.stringify(new URL('access-keys.ts', import.meta.url).href)});
    const kept = [];
    for (let round = 0; round < 15; round++) {
      const { id } = await createAccessKey(process.argv[1], 'name');
      if (round % 3 === 0) await removeAccessKey(process.argv[1], id);
      else kept.push(id);
    }
    console.log(JSON.stringify(kept));`;
  const run = async (): Promise<readonly string[]> => {
    const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script, path];
    const child = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.on('data', (part: Buffer) => (text += part.toString()));
    await once(child, 'close');
    return JSON.parse(text) as string[];
  };
  const kept = (await Promise.all([run(), run(), run()])).flat();
  expect(kept).toHaveLength(30);
  expect(await ids()).toEqual(kept.toSorted());
});

test('removing a key from an empty list returns false', async () => {
  expect(await removeAccessKey(path, 'key-1')).toBe(false);
});

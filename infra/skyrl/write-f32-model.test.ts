import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readSafetensors } from '../../shared/policy/checkpoints/safetensors.ts';
import { CLAW_NANO, modelFolder } from '../../shared/policy/model/model-folder.ts';
import { writeF32Model } from './write-f32-model.ts';

test('the copy has the same values in f32, the same tokenizer, and no leftovers', async () => {
  const root = await mkdtemp(join(tmpdir(), 'clawloop-f32-'));
  onTestFinished(() => rm(root, { recursive: true }));
  const [from, to] = [modelFolder(CLAW_NANO), join(root, 'copies', 'f32')];
  await writeF32Model(from, to);
  await writeF32Model('/no/such/folder', to); // a copy that is there stays
  expect(await readdir(join(root, 'copies'))).toEqual(['f32']);
  expect((await readdir(to)).sort()).toEqual((await readdir(from)).sort());
  const [before, after] = [from, to].map((folder) => readSafetensors(join(folder, 'model.safetensors')));
  const [narrow, wide] = [await before!, await after!];
  expect(wide.names).toEqual(narrow.names);
  for (const name of wide.names) {
    expect(wide.type(name)).toBe('F32');
    expect(wide.float32(name)).toEqual(narrow.float32(name));
  }
  const config = JSON.parse(await readFile(join(to, 'config.json'), 'utf8'));
  expect(config).toMatchObject({ torch_dtype: 'float32', hidden_size: 128 });
  expect(await readFile(join(to, 'tokenizer.json'))).toEqual(await readFile(join(from, 'tokenizer.json')));
});

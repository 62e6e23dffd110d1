import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { openCheckpoint } from '../../shared/policy/checkpoints/checkpoint.ts';
import { openBackend } from '../../shared/policy/executors/backend.ts';
import { modelFolder } from '../../shared/policy/model/model-folder.ts';
import { loadPolicy } from '../../shared/policy/model/policy.ts';
import { loadPromptWriter } from '../../shared/policy/text/load-prompt-writer.ts';
import { localEngine } from './local-engine.ts';
import { loadTeacherModel } from './teacher-model.ts';

const nano = modelFolder('claw-nano');
const form = { distillation: 'sampled', topK: 4 } as const;
let folder: string | undefined;
afterEach(async () => {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  folder = undefined;
});

test('another model as teacher is loaded once, reads the same tokens, and reports its digest', async () => {
  const executor = await openBackend('wasm');
  const policy = await loadPolicy(await openCheckpoint(nano), executor);
  let loads = 0;
  const engine = localEngine(policy, await loadPromptWriter(nano), (model) => {
    loads += 1;
    return loadTeacherModel(model, nano, executor);
  });
  const sequences = [{ promptIds: [5, 6, 7], responseIds: [8, 9], temperature: 0.7 }];
  expect(() => engine.scoreByTeacher(nano, sequences)).toThrow(/not loaded/);
  expect(await engine.prepare({ ...form, method: 'combine', teacher: 'current' })).toEqual({
    teacherDigest: undefined,
  });
  expect(await engine.prepare({ ...form, method: 'binary', teacher: nano })).toEqual({
    teacherDigest: undefined,
  });
  expect(loads).toBe(0);
  // claw-nano has 1024 tokens
  for (const distillation of ['topk', 'overlap'] as const) {
    const all = { ...form, method: 'opd', teacher: nano, distillation } as const;
    await expect(engine.prepare({ ...all, topK: 1025 })).rejects.toMatchObject({ name: 'TOP_K_VOCABULARY' });
  }
  expect(await engine.prepare({ method: 'binary', teacher: nano, distillation: 'topk', topK: 1025 })).toEqual(
    {
      teacherDigest: undefined,
    },
  );
  expect(loads).toBe(0);
  const { teacherDigest } = await engine.prepare({ ...form, method: 'opd', teacher: nano });
  expect(await engine.prepare({ ...form, method: 'opd', teacher: nano })).toEqual({ teacherDigest });
  expect(teacherDigest).toMatch(/^[0-9a-f]{16,}$/);
  expect(loads).toBe(1);
  // The weights are the same, so the base policy gives the same scores.
  expect(engine.scoreByTeacher(nano, sequences)).toEqual(engine.score(undefined, sequences));
  expect(engine.distributionsByTeacher(nano, sequences, { count: 3 })).toEqual(
    engine.distributions(undefined, sequences, { count: 3 }),
  );
  policy.dispose();
});

test('a teacher with a different vocabulary is refused before it is loaded', async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-teacher-'));
  const tokenizer = JSON.parse(await readFile(join(nano, 'tokenizer.json'), 'utf8')) as {
    added_tokens: { content: string }[];
  };
  tokenizer.added_tokens[0]!.content = '<other>';
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  await writeFile(join(folder, 'config.json'), '{}');
  await writeFile(join(folder, 'model.safetensors'), '');
  const executor = await openBackend('wasm');
  await expect(loadTeacherModel(folder, nano, executor)).rejects.toMatchObject({
    message: expect.stringMatching(/different vocabulary/),
  });
});

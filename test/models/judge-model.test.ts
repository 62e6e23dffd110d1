import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Judge } from '../../services/judge/judges/judge.ts';
import { openModelJudge } from '../../services/judge/judges/model/model-judge.ts';
import { turnCompleted, user } from '../../services/judge/testing/events.ts';
import { smallConfig } from '../../shared/policy/testing/model.ts';
import { makeRandomModel } from '../fixtures/make-random-model.ts';

let folder = '';
const open: Judge[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-judge-model-'));
  await makeRandomModel(
    folder,
    { ...smallConfig, vocabularySize: 1024, maxPositions: 8192 },
    { dtype: 'F32' },
  );
});
afterEach(async () => {
  for (const judge of open.splice(0)) await judge.close?.();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const never = new AbortController().signal;
const judgeIn = (model: string, maxTokens: number) => {
  const setup = { folder: model, backend: 'auto', temperature: 1, maxTokens } as const;
  const judge = openModelJudge('a/b', async () => setup);
  open.push(judge);
  return judge;
};
const turn = (turnId: string, words = 'No lists, please.') =>
  turnCompleted(turnId, { next: [user(words)] }).data;

test('votes side by side say what each says alone; one that is cancelled ends, and the others go on', async () => {
  const judge = judgeIn(folder, 8);
  expect(await judge.open?.()).toMatch(/^a\/b: .*loaded in/);
  const alone = [];
  for (const index of [0, 1]) alone.push((await judge.vote(turn('t'), index, never)).text);
  const cancel = new AbortController();
  const cancelled = judge.vote(turn('t'), 2, cancel.signal);
  const together = [0, 1].map((index) => judge.vote(turn('t'), index, never));
  cancel.abort(new Error('the turn is settled'));
  await expect(cancelled).rejects.toThrow('the turn is settled');
  expect((await Promise.all(together)).map(({ text }) => text)).toEqual(alone);
  expect(new Set(alone).size).toBe(2);
});

test('a turn that the model has no room for gets no verdict, and is not asked again', async () => {
  const small = join(folder, 'small');
  await makeRandomModel(small, { ...smallConfig, vocabularySize: 1024, maxPositions: 512 }, { dtype: 'F32' });
  const judge = judgeIn(small, 8);
  expect(await judge.vote(turn('t'), 0, never)).toMatchObject({
    vote: null,
    text: expect.stringMatching(/^\(the prompt has \d+ tokens, and the model has room for 512\)$/),
  });
  expect(await judge.hint?.(turn('t'), 0, never)).toMatchObject({ decision: null });
});

test('a family that is not supported is refused by its own name, before any vote', async () => {
  const foreign = join(folder, 'foreign');
  await makeRandomModel(foreign, { ...smallConfig, vocabularySize: 1024 }, { dtype: 'F32' });
  await writeFile(join(foreign, 'config.json'), '{"model_type":"mamba"}');
  const judge = judgeIn(foreign, 8);
  await expect(judge.open?.()).rejects.toMatchObject({ name: 'UnsupportedModel' });
  await expect(judge.vote(turn('t'), 0, never)).rejects.toThrow('mamba');
});

import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { FinishedAnswer } from './answer.ts';
import { openRecordedAnswers, REPEATABLE_MS, type RecordedAnswer } from './recorded-answers.ts';

let folder: string;
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'clawloop-answers-')), 'answers');
});
afterEach(() => rm(join(folder, '..'), { recursive: true, force: true }));

const usage = { promptTokens: 1, completionTokens: 1 };
const finished: FinishedAnswer = {
  version: 3,
  usage,
  choices: [
    {
      index: 0,
      answer: { role: 'assistant', content: 'hello' },
      recorded: true,
      tokens: [{ token: 'hello', logProb: -1, alternatives: [{ token: 'x', logProb: -Infinity }] }],
      generated: {
        version: 3,
        finishReason: 'stop',
        tokens: {
          promptIds: [1],
          responseIds: [2],
          logProbs: [-1],
          effectiveTemperature: 1,
          greedy: false,
          filters: { topP: 1, topK: 0 },
        },
        sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 5 },
        usage,
      },
    },
  ],
};
const answer: RecordedAnswer = { id: 'chatcmpl-1', created: 7, finished };
const request = { keyId: 'ann', idempotencyKey: 'k', digest: 'body' };
const never = new AbortController().signal;

test('repeated requests get the first answer, also after a restart', async () => {
  const claim = await openRecordedAnswers(folder).claim(request, never);
  if (claim.kind !== 'first') throw new Error('nobody came before');
  await claim.keep(answer);
  claim.leave();
  const again = await openRecordedAnswers(folder).claim(request, never);
  expect(again).toMatchObject({ kind: 'recorded', answer: { id: 'chatcmpl-1', created: 7 } });
  if (again.kind !== 'recorded') throw new Error('it was kept');
  const [choice] = again.answer.finished.choices;
  expect(choice!.answer).toEqual(finished.choices[0]!.answer);
  expect(choice!.tokens![0]!.alternatives).toEqual([{ token: 'x', logProb: -9999 }]);
  expect(choice!.generated.tokens).toBeNull();
});

test('a different request with the same key is refused, unless the client differs', async () => {
  const answers = openRecordedAnswers(folder);
  const claim = await answers.claim(request, never);
  await expect(answers.claim({ ...request, digest: 'other' }, never)).rejects.toMatchObject({ status: 422 });
  expect(await answers.claim({ ...request, keyId: 'bob' }, never)).toMatchObject({ kind: 'first' });
  if (claim.kind === 'first') await claim.keep(answer).then(claim.leave);
  await expect(answers.claim({ ...request, digest: 'other' }, never)).rejects.toMatchObject({
    status: 422,
    code: 'idempotency_key_reused',
    param: 'idempotency-key',
  });
});

test('concurrent requests wait for the first, and answer if it did not', async () => {
  const answers = openRecordedAnswers(folder);
  const first = await answers.claim(request, never);
  const second = answers.claim(request, never);
  const third = answers.claim(request, never);
  const gone = new AbortController();
  const fourth = answers.claim(request, gone.signal);
  gone.abort();
  await expect(fourth).rejects.toBe(gone.signal.reason);
  if (first.kind === 'first') first.leave(); // it failed
  const next = await Promise.race([second, third]);
  if (next.kind !== 'first') throw new Error('nothing was kept');
  await next.keep(answer).then(next.leave);
  const kinds = (await Promise.all([second, third])).map(({ kind }) => kind);
  expect(kinds.toSorted()).toEqual(['first', 'recorded']);
});

test('answers expire after a day, and broken files are ignored', async () => {
  let time = Date.now();
  const answers = openRecordedAnswers(folder, () => time);
  const claim = await answers.claim(request, never);
  if (claim.kind === 'first') await claim.keep(answer).then(claim.leave);
  await answers.sweep();
  expect(await readdir(folder)).toHaveLength(1);
  time += REPEATABLE_MS + 1_000;
  const later = await answers.claim({ ...request, digest: 'other' }, never);
  expect(later.kind).toBe('first');
  if (later.kind === 'first') later.leave();
  await answers.sweep();
  expect(await readdir(folder)).toEqual([]);
  const broken = await answers.claim(request, never);
  if (broken.kind === 'first') await broken.keep(answer).then(broken.leave);
  for (const name of await readdir(folder)) await writeFile(join(folder, name), '{"digest"');
  expect((await answers.claim(request, never)).kind).toBe('first');
});

test("each key's answers have a byte limit that drops the oldest, also after a restart", async () => {
  const limits = { bytes: 20_000, bytesPerOwner: 8_000 };
  const keep = async (answers: ReturnType<typeof openRecordedAnswers>, keyId: string, n: number) => {
    const claim = await answers.claim({ keyId, idempotencyKey: `k${n}`, digest: 'body' }, never);
    if (claim.kind !== 'first') throw new Error('nobody came before');
    const [choice] = finished.choices;
    const long = { ...choice!, answer: { role: 'assistant', content: 'x'.repeat(2_000) } as const };
    await claim.keep({ ...answer, finished: { ...finished, choices: [long] } });
    claim.leave();
  };
  const kept = async (answers: ReturnType<typeof openRecordedAnswers>, keyId: string, count: number) => {
    const found: number[] = [];
    for (let n = 0; n < count; n++) {
      const claim = await answers.claim({ keyId, idempotencyKey: `k${n}`, digest: 'body' }, never);
      if (claim.kind === 'first') claim.leave();
      else found.push(n);
    }
    return found;
  };
  const first = openRecordedAnswers(folder, Date.now, limits);
  await keep(first, 'bob', 0);
  for (const n of [0, 1, 2, 3, 4]) await keep(first, 'ann', n);
  expect([await kept(first, 'ann', 5), await kept(first, 'bob', 1)]).toEqual([[2, 3, 4], [0]]);
  const again = openRecordedAnswers(folder, Date.now, limits);
  await again.sweep();
  await keep(again, 'ann', 5);
  expect([await kept(again, 'ann', 6), await kept(again, 'bob', 1)]).toEqual([[3, 4, 5], [0]]);
  expect(await readdir(folder)).toHaveLength(4);
});

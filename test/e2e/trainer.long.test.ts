import { cp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { PolicyRolledBack } from '../../shared/events/policy-rolled-back.ts';
import { referencePath } from '../../shared/policy/testing/reference-fixtures.ts';
import { until } from './harness/clawloop.ts';
import { endedOnce, endings } from './trainer-endings.ts';
import { openTrainerFolder, type TrainerFolder, writeTinyModel } from './trainer-process.ts';

let folder: TrainerFolder | undefined;
afterEach(async () => {
  await folder?.dispose();
  folder = undefined;
});
const open = async (model?: string): Promise<TrainerFolder> => {
  folder = await openTrainerFolder(model);
  return folder;
};

/** Waits until the trainer's metrics contain this line, which appears shortly after its event is in the log. */
const figuresOf = (url: string, line: RegExp): Promise<string> =>
  until(`its metrics show ${line}`, async () => {
    const text = await (await fetch(`${url}/metrics`)).text();
    return line.test(text) && text;
  });

describe('with a model in Hugging Face format', () => {
  test('a batch is trained and promoted', async () => {
    const { start, submit, settled, events } = await open(referencePath('models/qwen3-tiny'));
    start();
    await submit(1);
    expect(await settled(1)).toMatchObject({ head: 1 });
    expect(endings(events(), 1)).toEqual(endedOnce(1));
  });
});

test('versions follow each other, can be replayed bit for bit, and the process reports its progress', async () => {
  const { start, submit, settled, events, replay } = await open();
  const trainer = start();
  // each form of distillation once
  for (const [index, distillation] of (['sampled', 'topk', 'overlap'] as const).entries()) {
    const n = index + 1;
    await submit(n, { settings: { distillation, topK: 8, hintCheck: false } });
    expect(await settled(n)).toMatchObject({ head: n });
    expect(endings(events(), n)).toEqual(endedOnce(n));
  }
  const figures = events().flatMap((event) => (event.type === 'policy.trained' ? [event.data.metrics] : []));
  expect(figures).toMatchObject([
    { hintsUsed: 1, templateDrift: 0, teacherGap: expect.any(Number) },
    { hintsUsed: 1, templateDrift: 0, distillationLoss: expect.any(Number) },
    { hintsUsed: 1, templateDrift: 0, hintsRead: 1, hintOverlap: expect.any(Number) },
  ]);
  const url = await trainer.url();
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  const metrics = await figuresOf(url, /clawloop_trainer_batches_total\{outcome="promoted"[^}]*\} 3/);
  expect(metrics).toMatch(/clawloop_trainer_version\{[^}]*\} 3/);
  expect(metrics).toMatch(/clawloop_trainer_last_step\{figure="meanKl"[^}]*\} 0\.\d/);
  expect(await trainer.end('SIGTERM')).toBe(0);

  const replayed = await replay(); // another process
  expect(replayed.text).toMatch(/3 versions in the log, 3 replayed: 3 same, 0 different, 0 not covered/);
  expect(replayed.code).toBe(0);
});

test('all weights are trained and replayed bit for bit, and are not continued as an adapter', async () => {
  const { start, submit, settled, events, replay, log } = await open();
  const trainer = start(['--training', 'full']);
  const settings = { training: 'full', learningRate: 1e-3 } as const;
  for (const n of [1, 2]) {
    await submit(n, { settings: { ...settings, distillation: n === 1 ? 'sampled' : 'topk' } });
    expect(await settled(n)).toMatchObject({ head: n });
    expect(endings(events(), n)).toEqual(endedOnce(n));
  }
  expect(await trainer.end('SIGTERM')).toBe(0);
  expect((await replay()).text).toMatch(/2 replayed: 2 same/);

  const other = start(['--training', 'lora']);
  await until('it ended', () => other.child.exitCode !== null);
  expect(other.child.exitCode).toBe(2);
  expect(other.output()).toMatch(/version 2 of the adapter .*default.* was trained as full, .* ask for lora/);
  const back = { adapter: 'default', from: 2, to: 0 };
  await log.append([
    PolicyRolledBack.create({ id: 'back', source: 'clawloop/cli', time: '2026-01-01T00:00:00Z', data: back }),
  ]);
  start();
  await submit(3, { parent: 0 });
  expect(await settled(3)).toMatchObject({ head: 3, versions: { 3: { parent: 0 } } });
});

test('replay notices another base, and counts the versions that it cannot cover', async () => {
  const { root, start, submit, settled, replay, checkpoints } = await open();
  const trainer = start(['--keep', '2']);
  for (let n = 1; n <= 12; n++) {
    await submit(n);
    await settled(n);
  }
  await until(
    'all but the nearest ten versions were removed',
    async () => (await readdir(checkpoints)).filter((name) => /^\d/.test(name)).length === 10,
  );
  await trainer.end('SIGTERM');
  expect((await replay()).text).toMatch(
    /12 versions in the log, 10 replayed: 10 same, 0 different, 2 not covered/,
  );

  await writeTinyModel(`${root}/model`, 2);
  const changed = await replay();
  expect(changed.text).toMatch(/default v1 +DIFFERENT/);
  expect(changed.code).toBe(1);
});

test('a candidate that fails its gate is not served, and the loop continues', async () => {
  const { start, submit, settled, events } = await open();
  start();
  await submit(1, { settings: { gateMeanKl: 1e-9 } });
  expect(await settled(1)).toMatchObject({ head: 0 });
  await submit(2, { settings: { learningRate: 1e39 } });
  expect(await settled(2)).toMatchObject({ head: 0 });
  await submit(3);
  expect(await settled(3)).toMatchObject({ head: 3, versions: { 3: { parent: 0 } } });
  const reasons = events().flatMap((event) => (event.type === 'policy.rejected' ? [event.data.reason] : []));
  expect(new Set(reasons)).toEqual(new Set(['kl-to-parent', 'not-finite']));
});

test('a rollback before the step ends is not undone by its end', async () => {
  const { start, submit, settled, log, events, head } = await open();
  const first = start();
  await submit(1);
  await settled(1);
  await first.end('SIGTERM'); // so that the rollback is in the log before the step ends
  await submit(2);
  const back = { adapter: 'default', from: 1, to: 0 };
  await log.append([
    PolicyRolledBack.create({ id: 'back', source: 'clawloop/cli', time: '2026-01-01T00:00:00Z', data: back }),
  ]);
  start();
  await settled(2);
  expect(endings(events(), 2)).toEqual(endedOnce(2)); // promoted from 1, which is no longer the head
  expect(head().head).toBe(0);
  await submit(3); // from the base again
  expect(await settled(3)).toMatchObject({ head: 3, versions: { 3: { parent: 0 } } });
});

test('the trainer waits for missing checkpoints, reports them, and gives up only after an operator does', async () => {
  const { start, submit, settled, events, checkpoints, log } = await open();
  const trainer = start();
  await submit(1);
  await settled(1);
  const missing = async () => (await fetch(`${await trainer.url()}/readyz`)).text();
  const away = `${checkpoints}.away`;
  await rename(checkpoints, away);
  await submit(2);
  await until('it reports what it waits for', async () =>
    /waiting for the checkpoints of default/.test(await missing()),
  );
  expect(trainer.output()).toMatch(/"level":40.*waiting for the checkpoints/);
  expect(endings(events(), 2)).toEqual({ outcomes: [], digests: 0 });
  await rename(away, checkpoints);
  expect(await settled(2)).toMatchObject({ head: 2 });
  expect(endings(events(), 2)).toEqual(endedOnce(2));
  await until('it is ready', async () => /"ready":true/.test(await missing()));

  const [lost] = (await readdir(checkpoints)).filter((name) => name.startsWith('2-'));
  await rm(join(checkpoints, lost!), { recursive: true });
  await submit(3);
  await until('it names the way out', async () => /policy rollback/.test(await missing()));
  const back = { adapter: 'default', from: 2, to: 1 };
  await log.append([
    PolicyRolledBack.create({ id: 'back', source: 'clawloop/cli', time: '2026-01-01T00:00:00Z', data: back }),
  ]);
  expect(await settled(3)).toMatchObject({ head: 1 });
  const failed = events().flatMap((event) =>
    event.type === 'policy.update-failed' ? [event.data.reason] : [],
  );
  expect(failed).toEqual(['parent-missing']);
  await submit(4);
  expect(await settled(4)).toMatchObject({ head: 4 });
});

test('SIGTERM in the middle of a step stops it, and does not count as a failed attempt', async () => {
  const { start, submit, settled, events, checkpoints } = await open();
  await submit(1, { length: 200 });
  const trainer = start();
  await until('it trains', () => /"msg":"training started"/.test(trainer.output()));
  expect(await trainer.end('SIGTERM')).toBe(0);
  const left = await readdir(checkpoints, { recursive: true });
  expect(left.filter((name) => name.includes('.attempts/') || name.startsWith('.tmp-'))).toEqual([]);
  start(['--max-strikes', '1']);
  expect(await settled(1)).toMatchObject({ head: 1 });
  expect(endings(events(), 1)).toEqual(endedOnce(1));
});

test('a second trainer reports that it is on standby, and takes over when the first is killed', async () => {
  const { start, submit, settled, events, checkpoints } = await open();
  const first = start();
  await submit(1);
  expect(await settled(1)).toMatchObject({ head: 1 });
  const second = start();
  await until('it is on standby', () => /another trainer is using these checkpoints/.test(second.output()));
  const readiness = await fetch(`${await second.url()}/readyz`);
  expect(readiness.status).toBe(503);
  expect(await readiness.json()).toMatchObject({ missing: expect.stringMatching(/stands by/) });
  await submit(2, { length: 200 });
  await until('it trains', () => /"version":2.*"msg":"training started"/.test(first.output()));
  await first.end('SIGKILL');
  expect(await settled(2)).toMatchObject({ head: 2 });
  await until('it is ready', async () => (await fetch(`${await second.url()}/readyz`)).ok);
  for (const n of [1, 2]) expect(endings(events(), n)).toEqual(endedOnce(n));
  const left = (await readdir(checkpoints)).filter((name) => /^\d/.test(name) && !name.endsWith('.attempts'));
  expect(left).toHaveLength(2);
});

test('each adapter has its own lineage, and the outcome of one does not affect the other', async () => {
  const { root, start, submit, settled, head, replay } = await open();
  const of = (adapter: string, more: object = {}) => ({ adapter, ...more });
  await submit(1, of('alice'));
  await submit(1, of('bob', { parent: 7 })); // a version without a checkpoint
  const trainer = start(['--adapters', 'alice,bob']);
  expect(await settled(1, 'alice')).toMatchObject({ head: 1 });
  expect(await settled(1, 'bob')).toMatchObject({ head: 0 });
  await Promise.all([submit(2, of('alice', { length: 200 })), submit(2, of('bob', { length: 200 }))]);
  expect(await settled(2, 'alice')).toMatchObject({ head: 2, versions: { 2: { parent: 1 } } });
  expect(await settled(2, 'bob')).toMatchObject({ head: 2, versions: { 2: { parent: 0 } } });
  const metrics = await figuresOf(await trainer.url(), /clawloop_trainer_version\{adapter="alice"[^}]*\} 2/);
  expect(metrics).toMatch(/batches_total\{outcome="parent-missing",adapter="bob"[^}]*\} 1/);
  await trainer.end('SIGTERM');
  // training one adapter alone gives the same result, so the other has no influence
  expect((await replay()).text).toMatch(/3 replayed: 3 same/);
  const digests = ['alice', 'bob'].map((adapter) => head(adapter).versions[2]!.digest);
  expect(digests[0]).not.toBe(digests[1]);
  expect((await readdir(`${root}/data/checkpoints/alice`)).length).toBeGreaterThanOrEqual(2);
});

test('an adapter that learns much comes after those that wait', async () => {
  const { start, submit, settled, events } = await open();
  const names = ['alice', 'bob', 'carol'];
  for (const adapter of names) await submit(1, { adapter, length: 200 });
  const trainer = start(); // no list: every open batch is trained
  const first = await Promise.race(names.map((adapter) => settled(1, adapter).then(() => adapter)));
  const url = await trainer.url();
  await until('it knows the other adapters', async () => {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    const waiting = Number(/open_obligations\{kind="batches"[^}]*\} (\d+)/.exec(metrics)?.[1]);
    return waiting + events().filter(({ type }) => type === 'policy.promoted').length >= names.length;
  });
  await submit(2, { adapter: first });
  await settled(2, first);
  const trained = events()
    .filter(({ type }) => type === 'policy.trained')
    .sort((one, other) => one.time.localeCompare(other.time))
    .map(({ id }) => id);
  expect(new Set(trained.slice(0, 3))).toEqual(new Set(names.map((name) => `${name}/batch/1/trained`)));
  expect(trained[3]).toBe(`${first}/batch/2/trained`);
});

test('checkpoints of another log stop the start', async () => {
  const { root, start, submit, settled } = await open();
  const first = start();
  await submit(1);
  await settled(1);
  await first.end('SIGTERM');
  const other = await openTrainerFolder(`${root}/model`);
  try {
    await cp(`${root}/data/checkpoints`, `${other.root}/data/checkpoints`, { recursive: true });
    const trainer = other.start();
    await until('it ended', () => trainer.child.exitCode !== null);
    expect(trainer.child.exitCode).toBe(2);
    expect(trainer.output()).toMatch(/Move the folder away/);
  } finally {
    await other.dispose();
  }
});

test('a batch that compares more tokens than exist fails with that reason; the next one trains', async () => {
  const { start, submit, settled, events } = await open();
  start();
  await submit(1, { settings: { distillation: 'topk', topK: 65 } });
  expect(await settled(1)).toMatchObject({ head: 0 });
  const failed = events().find(({ type }) => type === 'policy.update-failed');
  expect(failed?.data).toMatchObject({ detail: expect.stringMatching(/topK is 65, .* has 64 tokens/) });
  await submit(2, { parent: 0, settings: { distillation: 'topk', topK: 64 } });
  expect(await settled(2)).toMatchObject({ head: 2 });
});

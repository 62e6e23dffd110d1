import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from './harness/clawloop.ts';
import { type ServingFolder, type ServingProcess, servingFolder } from './serving-process.ts';

type Marked = { readonly clawloop?: { readonly recorded: boolean } };

describe('while the log stores no events', () => {
  let folder: ServingFolder;
  let lock: DatabaseSync | undefined;
  beforeEach(async () => {
    folder = await servingFolder();
  });
  afterEach(async () => {
    lock?.close();
    lock = undefined;
    await folder.dispose();
  });

  /** Takes the write lock of the log's database, as a stuck process does. */
  const blockLog = async () => {
    // the events of serving's start must not wait in the outbox
    await until('the start is recorded', async () =>
      (await folder.events('training')).some(({ type }) => type === 'policy.loaded'),
    );
    lock = new DatabaseSync(join(folder.data.log, 'log.sqlite'), { timeout: 5_000 });
    lock.exec('BEGIN IMMEDIATE');
  };
  const chat = async ({ client }: ServingProcess) => {
    const answer = await client.chat.completions.create({
      model: 'clawloop',
      messages: [{ role: 'user', content: 'hello' }],
      max_tokens: 3,
    });
    return { id: answer.id, recorded: (answer as Marked).clawloop!.recorded };
  };
  const recordedIds = async () => (await folder.events('conversations')).map(({ id }) => id);
  const outbox = async () => (await readdir(folder.data.outbox)).filter((name) => name.endsWith('.json'));

  test('they wait in the outbox in order, and are appended when the log is back', async () => {
    const serving = await folder.start(['--append-timeout-ms', '100']);
    await blockLog();
    const ids: string[] = [];
    for (let turn = 0; turn < 3; turn++) {
      const { id, recorded } = await chat(serving);
      expect(recorded).toBe(true);
      ids.push(id);
    }
    expect(await outbox()).toHaveLength(3);
    expect(await serving.metric('clawloop_serving_outbox_depth')).toBe(3);
    lock!.exec('ROLLBACK');
    await until('the outbox is empty', async () => (await outbox()).length === 0);
    const after = await chat(serving);
    // it may wait there too, if the log is slower than the timeout
    await until('the last one is recorded', async () => (await recordedIds()).includes(after.id));
    // An append may succeed after its timeout, so the log may contain an event twice.
    expect([...new Set(await recordedIds())]).toEqual([...ids, after.id]);
  });

  test('they survive the end of the process', async () => {
    const serving = await folder.start(['--append-timeout-ms', '50']);
    await blockLog();
    const { id } = await chat(serving);
    process.kill(serving.pid, 'SIGKILL');
    await until('it is dead', () => !serving.isAlive());
    expect(await outbox()).toHaveLength(1);
    lock!.exec('ROLLBACK');
    await folder.start();
    await until('the outbox is empty', async () => (await outbox()).length === 0);
    expect(await recordedIds()).toContain(id);
  });

  test('if the outbox fails too, chat still answers, marked as not recorded', async () => {
    const serving = await folder.start(['--append-timeout-ms', '50']);
    await blockLog();
    await rm(folder.data.outbox, { recursive: true, force: true });
    await writeFile(folder.data.outbox, 'a file where a folder should be');
    const first = await chat(serving);
    expect(first.recorded).toBe(false);
    const stream = await serving.client.chat.completions.create({
      model: 'clawloop',
      messages: [{ role: 'user', content: 'hello' }],
      max_tokens: 3,
      stream: true,
    });
    const marks: boolean[] = [];
    for await (const chunk of stream) {
      const mark = (chunk as Marked).clawloop;
      if (mark !== undefined) marks.push(mark.recorded);
    }
    expect(marks).toEqual([false]);
    const text = await (await fetch(`${serving.url}/metrics`)).text();
    expect(text).toMatch(/clawloop_serving_facts_total\{to="lost"[^}]*\} 2/);
    const feedback = await fetch(`${serving.url}/v1/feedback`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ completion_id: first.id, rating: 'up' }),
    });
    expect(feedback.status).toBe(503);
    await rm(folder.data.outbox);
    await mkdir(folder.data.outbox);
    expect((await chat(serving)).recorded).toBe(true);
  });

  test('an event that exceeds the record size is written without bodies', async () => {
    const serving = await folder.start(['--max-record-bytes', '20000']);
    const answer = await serving.client.chat.completions.create({
      model: 'clawloop',
      messages: [{ role: 'user', content: 'x '.repeat(30_000) }],
      max_tokens: 3,
    });
    const fact = (await folder.events('conversations')).find(({ id }) => id === answer.id);
    expect(fact!.data).toMatchObject({
      tooLarge: true,
      untrainable: 'too-large',
      messages: [],
      tokens: null,
    });
  });
});

describe('when serving stops', () => {
  let folder: ServingFolder;
  beforeEach(async () => {
    folder = await servingFolder();
  });
  afterEach(() => folder.dispose());

  test('it first finishes and records an open answer', async () => {
    const serving = await folder.start();
    const stream = await serving.client.chat.completions.create({
      model: 'clawloop',
      messages: [{ role: 'user', content: 'a story' }],
      max_tokens: 200,
      logit_bias: { 1202: -100, 1200: -100 },
      stream: true,
    });
    let id = '';
    let finish: string | null | undefined;
    let stopped: Promise<number> | undefined;
    for await (const chunk of stream) {
      id = chunk.id;
      finish = chunk.choices[0]?.finish_reason;
      stopped ??= serving.stop();
    }
    expect(finish).toBe('length');
    const began = performance.now();
    expect(await stopped).toBe(0);
    expect(performance.now() - began).toBeLessThan(5_000);
    const fact = (await folder.events('conversations')).find((event) => event.id === id);
    expect(fact!.data).toMatchObject({ finishReason: 'length', disconnected: false });
  });
});

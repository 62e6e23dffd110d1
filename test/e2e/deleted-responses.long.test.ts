import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { defined } from '../../shared/lang/defined.ts';
import { type ClawLoop, clawloop, startClawLoop, until } from './harness/clawloop.ts';

// The effects of a deletion by the client: before the response is judged, while it waits, and after it trained.

let folder: string;
let loop: ClawLoop;
let client: OpenAI;
const run = async (...argv: string[]) => {
  const result = await clawloop([...argv, '--data-folder', folder]);
  expect(result.code, result.stderr + result.stdout).toBe(0);
  return result.stdout;
};
vi.setConfig({ testTimeout: 300_000 });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-deleted-'));
  loop = await startClawLoop(folder, ['--collector-batch-size', '2']);
  client = new OpenAI({ baseURL: `${loop.url}/v1`, apiKey: 'none', maxRetries: 0 });
});
afterAll(async () => {
  await loop?.stop();
  await rm(folder, { recursive: true, force: true });
});

type Turn = {
  readonly turnId: string;
  readonly stage: { readonly kind: string; readonly reason?: string; readonly version?: number };
};
const stageOf = async (id: string): Promise<Turn['stage'] | undefined> =>
  (await run('turns', 'list', '--json'))
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Turn)
    .find(({ turnId }) => turnId === id)?.stage;
const stands = (id: string, kind: string) =>
  until(`${id} is ${kind}`, async () => {
    const stage = await stageOf(id);
    return stage?.kind === kind ? stage : undefined;
  });

let asked = 0;
const ask = async (previous?: string) => {
  const { id, status } = await client.responses.create({
    model: 'clawloop',
    input: previous === undefined ? `How do I pack for place number ${asked++}?` : 'Perfect, thanks!',
    max_output_tokens: 300,
    temperature: 0,
    ...defined({ previous_response_id: previous }),
  });
  expect(status).toBe('completed');
  return id;
};

test('it no longer trains, and the audit balances', async () => {
  const open = await ask();
  await client.responses.delete(open);
  expect(await stands(open, 'not-trained')).toMatchObject({ reason: 'deleted' });

  const waiting = await ask();
  await ask(waiting);
  await stands(waiting, 'waiting-for-batch');
  await client.responses.delete(waiting);
  expect(await stands(waiting, 'not-trained')).toMatchObject({ reason: 'deleted' });
  await expect(client.responses.retrieve(waiting)).rejects.toMatchObject({ status: 404 });
  await expect(client.responses.delete(waiting)).rejects.toMatchObject({ status: 404 });

  const taught = [await ask(), await ask()];
  for (const id of taught) await ask(id);
  for (const id of taught) expect(await stands(id, 'trained')).toMatchObject({ version: 1 });
  await client.responses.delete(taught[0]!);
  await until('the deletion was read', async () =>
    (await run('topics', 'tail', 'training', '--type', 'sample.withdrawn', '--json')).includes(taught[0]!),
  );
  expect(await stageOf(taught[0]!)).toMatchObject({ kind: 'trained' }); // a finished step stays

  // the gate repeats earlier requests, but not this one
  const later = [await ask(), await ask()];
  for (const id of later) await ask(id);
  for (const id of later) await stands(id, 'trained');
  const batches = (await run('topics', 'tail', 'training', '--type', 'batch.submitted', '--json'))
    .split('\n')
    .filter((line) => line.startsWith('{'));
  expect(batches.at(-1)).toMatch(/"earlier":\[\{/);
  expect(batches.at(-1)).toContain(`"sampleId":"${taught[1]}"`);
  expect(batches.at(-1)).not.toContain(taught[0]);

  expect(await run('turns', 'list', '--why')).toMatch(/not trained: deleted/);
  const audit = await run('audit');
  expect(audit).toMatch(/balances/);
  expect(audit).toMatch(/deleted +2/);
  expect(await run('audit', '--deep')).toMatch(/a rebuild gives the same events and rows/);
  expect(await run('replay')).toMatch(/2 replayed: 2 same/);
});

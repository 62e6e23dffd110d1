import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { openTrainingServer } from '../../shared/tinker/open-training-server.ts';
import type { RemoteModel } from '../../shared/tinker/training-server.ts';

const entry = fileURLToPath(new URL('server.ts', import.meta.url));
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0))
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
});

async function start(folder: string, port = '0') {
  const child = spawn(process.execPath, [entry, '--folder', folder, '--port', port], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  const { url } = JSON.parse(line) as { readonly url: string };
  return { child, url };
}

const sequences = [{ promptIds: [5, 17], responseIds: [31, 8, 77] }];
const adam = {
  learningRate: 1e-2,
  beta1: 0.9,
  beta2: 0.99,
  epsilon: 1e-8,
  weightDecay: 0,
  gradientClip: undefined,
};

async function stepOf(model: RemoteModel): Promise<number | undefined> {
  const current = await model.forward(sequences);
  await model.addGradient(sequences, { sampled: [[1, -1, 0.5]] }, { current, sequencesUntilStep: 1 });
  return (await model.optimizerStep(adam)).gradientNorm;
}

test('a server that is killed in a step comes back with its saved states, from which the step is the same', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tinker-server-'));
  const first = await start(folder);
  const open = (url: string) =>
    openTrainingServer({ url, apiKey: 'tml-test', dialect: 'skyrl-jax', model: 'tiny', waitsMs: [1] });
  const { signal } = new AbortController();
  const session = await open(first.url).openSession({}, signal);
  const model = await session.createModel({ rank: 2, seed: 1 });
  await stepOf(model);
  const { path } = await model.saveState('after-one');
  const undisturbed = await session.createModel({ rank: 2, seed: 2 });
  await undisturbed.loadState(path);
  const norm = await stepOf(undisturbed);
  const expected = await undisturbed.forward(sequences);

  const fault = { kind: 'die', at: '/optim_step' };
  await fetch(`${first.url}/fake/fault`, { method: 'POST', body: JSON.stringify({ fault }) });
  const gone = once(first.child, 'exit');
  await expect(stepOf(model)).rejects.toMatchObject({
    code: expect.stringMatching(/answer_lost|unreachable/),
  });
  expect((await gone)[1]).toBe('SIGKILL');
  await session.close();

  const second = await start(folder, new URL(first.url).port);
  const later = await open(second.url).openSession({}, signal);
  const again = await later.createModel({ rank: 2, seed: 3 });
  await again.loadState(path);
  expect(await stepOf(again)).toBe(norm);
  expect(await again.forward(sequences)).toEqual(expected);
  await later.close();
  const state = await fetch(`${second.url}/fake/state`).then((response) => response.json());
  expect(state).toMatchObject({ models: [], states: [path] });
  second.child.kill('SIGTERM');
  expect((await once(second.child, 'exit'))[0]).toBe(0);
  await rm(folder, { recursive: true });
});

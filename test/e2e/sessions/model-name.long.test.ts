import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { clawloop } from '../harness/clawloop.ts';
import { servingForSuite } from '../serving-process.ts';

// Sessions of one of several adapters, named as the protocol names it.

const on = servingForSuite(['--model', 'claw-nano', '--adapters', 'alice,bob']);
const beside = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const run = (...argv: string[]) =>
  clawloop([...argv, '--url', on.serving.url, '--data-folder', on.folder.data.root]);
const started = async () =>
  (await on.folder.events('conversations')).flatMap((event) =>
    event.type === 'session.started' ? [{ task: event.data.task, adapter: event.data.adapter }] : [],
  );

test('sessions start uses the adapter of --model, and refuses a version or an unknown name', {
  timeout: 150_000,
}, async () => {
  expect((await run('sessions', 'start', '--task', 'plain')).code).toBe(0);
  const { code, stdout, stderr } = await run(
    'sessions',
    'start',
    '--task',
    'cook',
    '--model',
    'clawloop:bob',
    '--json',
  );
  expect(code, stderr).toBe(0);
  const { api_key } = JSON.parse(stdout) as { readonly api_key: string };
  expect((await run('sessions', 'start', '--refresh', api_key)).code).toBe(0); // the next session is bob's too
  const adapters = Map.groupBy(await started(), ({ task }) => task);
  expect([...adapters].map(([task, all]) => [task, all.map(({ adapter }) => adapter)]).sort()).toEqual([
    ['cook', ['bob', 'bob']],
    ['plain', ['alice']],
  ]);
  const version = await run('sessions', 'start', '--model', 'clawloop:bob@base');
  expect([version.code, version.stderr]).toEqual([expect.any(Number), expect.stringMatching(/live policy/)]);
  expect(version.code).not.toBe(0);
  const nobody = await run('sessions', 'start', '--model', 'clawloop:carl');
  expect([nobody.code === 0, nobody.stderr]).toEqual([false, expect.stringContaining('clawloop:carl')]);
});

test('rollout opens its sessions with the adapter of --model', { timeout: 150_000 }, async () => {
  const data = join(on.folder.data.root, 'tasks.jsonl');
  await writeFile(data, JSON.stringify({ id: 'pack', question: 'How do I pack?' }));
  const modules = ['--agent', beside('../rollout/agent.ts'), '--reward', beside('../rollout/reward.ts')];
  const asked = [...modules, '--data', data, '--n', '1'];
  const { code, stdout, stderr } = await run('rollout', ...asked, '--model', 'clawloop:bob');
  expect(code, stdout + stderr).toBe(0);
  expect((await started()).filter(({ task }) => task === 'pack')).toEqual([{ task: 'pack', adapter: 'bob' }]);
  const nobody = await run('rollout', ...asked, '--model', 'clawloop:carl');
  expect([nobody.code === 0, nobody.stderr]).toEqual([false, expect.stringContaining('clawloop:carl')]);
});

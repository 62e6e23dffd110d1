import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EnvironmentDriver, OpenEnvironment } from '../environment.ts';
import { environmentFailureKind } from '../environment-failure.ts';
import { type McpAction, mcpDriver } from './driver.ts';

const server = {
  command: process.execPath,
  args: [fileURLToPath(new URL('../testing/paged-mcp-server.ts', import.meta.url))],
};
const signal = new AbortController().signal;
const task = { question: 'What is said?' };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-mcp-test-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function driverOf(mcpServers: object): Promise<EnvironmentDriver> {
  const path = join(folder, 'servers.json');
  await writeFile(path, JSON.stringify({ mcpServers }));
  return mcpDriver({ path, actLimitMs: 30_000 });
}
const open = (driver: EnvironmentDriver, about: unknown = task) =>
  driver.open(about, { id: 'a', seed: 7, signal });
const call = (environment: OpenEnvironment, name: string, given = {}) =>
  environment.act({ id: name, name, arguments: given }, signal);
const kindOf = (work: Promise<unknown>) =>
  work.then(
    () => 'worked',
    (error: Error) => `${environmentFailureKind(error)}: ${error.message}`,
  );

test('all pages of tools are offered, calls become observations, and the rating lists the actions', async () => {
  const environment = await open(await driverOf({ paged: server }));
  expect(environment.messages).toEqual([{ role: 'user', content: 'What is said?' }]);
  expect(environment.tools.map((tool) => tool.function.name)).toEqual(['echo', 'broken', 'die']);
  expect(await call(environment, 'echo', { text: 'hello' })).toEqual({
    content: 'hello',
    isError: false,
    isDone: false,
  });
  expect(await call(environment, 'echo')).toMatchObject({ content: 'text is missing', isError: true });
  expect(await kindOf(call(environment, 'broken'))).toBe(
    "environment-broken: MCP server 'paged': the disk is full",
  );
  const { reward, detail } = await environment.evaluate(signal);
  expect(reward).toBeUndefined();
  expect(detail.actions).toEqual<McpAction[]>([
    {
      name: 'echo',
      server: 'paged',
      tool: 'echo',
      arguments: { text: 'hello' },
      content: 'hello',
      isError: false,
    },
    { name: 'echo', server: 'paged', tool: 'echo', arguments: {}, content: 'text is missing', isError: true },
  ]);
  expect(existsSync(detail.folder as string)).toBe(true);
  await environment.close();
  expect(existsSync(detail.folder as string)).toBe(false);
});

test('tools of several servers have names of their own, and a server that ends is lost', async () => {
  const environment = await open(await driverOf({ one: server, two: server }));
  const names = environment.tools.map((tool) => tool.function.name);
  expect(names).toEqual(['one__echo', 'one__broken', 'one__die', 'two__echo', 'two__broken', 'two__die']);
  expect(await kindOf(call(environment, 'one__die'))).toBe(
    "environment-lost: MCP server 'one': it ended with exit code 3",
  );
  expect(await kindOf(call(environment, 'one__echo', { text: 'x' }))).toMatch('environment-lost');
  expect(await call(environment, 'two__echo', { text: 'alive' })).toMatchObject({ content: 'alive' });
  await environment.close();
});

test('a server that does not start is unavailable, with its last words', async () => {
  const failing = { command: process.execPath, args: ['-e', 'console.error("no licence"); process.exit(4)'] };
  expect(await kindOf(open(await driverOf({ paged: server, failing })))).toBe(
    "environment-unavailable: MCP server 'failing': it ended with exit code 4: no licence",
  );
  const missing = await driverOf({ missing: { command: '/nowhere/server' } });
  expect(await kindOf(open(missing))).toMatch(/^environment-unavailable: .*'missing': .*ENOENT/);
});

test('servers and tasks are checked before the first attempt', async () => {
  const named = (data: unknown) => [{ name: 'first', data }];
  const paged = await driverOf({ paged: server });
  await expect(paged.prepare!(named({ text: 'x' }))).rejects.toThrow('task first needs `prompt`');
  await expect(paged.prepare!(named({ messages: [{ role: 'tool', content: 'x' }] }))).rejects.toThrow(
    'task first',
  );
  const briefed = named({ messages: [{ role: 'system', content: 'Be brief.' }] });
  await expect(paged.prepare!(briefed)).resolves.toBe(briefed);
  const missing = await driverOf({ missing: { command: '/nowhere/server' } });
  await expect(missing.prepare!(named(task))).rejects.toThrow("MCP server 'missing'");
  await expect(paged.tasks({ split: undefined, range: undefined })).rejects.toThrow('give --data');
});

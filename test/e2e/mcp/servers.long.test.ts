import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { OpenEnvironment } from '../../../clients/environments/environment.ts';
import { environmentFailureKind } from '../../../clients/environments/environment-failure.ts';
import { mcpDriver } from '../../../clients/environments/mcp/driver.ts';
import { freePort, until } from '../harness/clawloop.ts';
import { describeWithMcpServers, realServer } from './install.ts';

const signal = new AbortController().signal;
/** ms: a server starts in a second, but other tests may run beside it */
const PATIENT = 60_000;

describeWithMcpServers('the reference servers of MCP as environments', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clawloop-mcp-servers-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const opened: OpenEnvironment[] = [];
  const started: ChildProcess[] = [];
  afterEach(async () => {
    for (const environment of opened.splice(0)) await environment.close();
    for (const child of started.splice(0)) {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
  });

  async function open(mcpServers: object, actLimitMs = PATIENT): Promise<OpenEnvironment> {
    const path = join(folder, 'servers.json');
    await writeFile(path, JSON.stringify({ mcpServers }));
    const environment = await mcpDriver({ path, actLimitMs }).open(
      { prompt: 'Begin.' },
      { id: 'a', seed: 1, signal },
    );
    opened.push(environment);
    return environment;
  }
  const call = (environment: OpenEnvironment, name: string, given = {}) =>
    environment.act({ id: name, name, arguments: given }, signal);
  const kindOf = (work: Promise<unknown>) => work.then(() => 'worked', environmentFailureKind);
  const isAlive = (pid: number) => existsSync(`/proc/${pid}`);

  test("every kind of result is an observation, and wrong arguments are the policy's mistake", async () => {
    const environment = await open({ everything: realServer('everything') });
    expect(await call(environment, 'echo', { message: 'hello' })).toMatchObject({ content: 'Echo: hello' });
    expect(await call(environment, 'echo', { message: 1 })).toMatchObject({
      isError: true,
      content: expect.stringContaining('expected string'),
    });
    const weather = await call(environment, 'get-structured-content', { location: 'New York' });
    expect(JSON.parse(weather.content)).toMatchObject({ conditions: 'Cloudy' });
    expect((await call(environment, 'get-tiny-image')).content).toContain('[image image/png]');
    expect((await call(environment, 'get-resource-links', { count: 1 })).content).toContain(
      '[resource_link demo://',
    );
  });

  test('each attempt has its own folder, and the server stays inside it', async () => {
    const files = { files: realServer('filesystem', `\${CLAWLOOP_FOLDER}`) };
    const [one, two] = [await open(files), await open(files)];
    const folderOf = async (environment: OpenEnvironment) =>
      (await environment.evaluate(signal)).detail.folder as string;
    const path = join(await folderOf(one), 'note.txt');
    expect(await call(one, 'write_file', { path, content: 'mine' })).toMatchObject({ isError: false });
    expect(await call(one, 'read_text_file', { path })).toMatchObject({ content: 'mine' });
    expect(await call(two, 'read_text_file', { path })).toMatchObject({
      isError: true,
      content: expect.stringContaining('Access denied'),
    });
    expect(await call(two, 'list_directory', { path: await folderOf(two) })).toMatchObject({
      isError: false,
    });
  });

  test('a server that a shell started ends with its attempt', async () => {
    const { command, args } = realServer('everything');
    const pids = join(folder, 'pids');
    const script = `echo $$ > ${pids}; "${command}" ${args[0]}; exit $?`;
    const environment = await open({ wrapped: { command: 'sh', args: ['-c', script] } });
    const shell = Number(await readFile(pids, 'utf8'));
    const pid = Number(await readFile(`/proc/${shell}/task/${shell}/children`, 'utf8'));
    expect(isAlive(pid)).toBe(true);
    await environment.close();
    await until('the server is gone', () => !isAlive(pid));
  });

  test('a server that is killed during the episode is lost', async () => {
    const { command, args } = realServer('everything');
    const pids = join(folder, 'pids');
    const script = `echo $$ > ${pids}; exec "${command}" ${args[0]}`;
    const environment = await open({ everything: { command: 'sh', args: ['-c', script] } });
    const long = call(environment, 'trigger-long-running-operation', { duration: 600, steps: 1 });
    process.kill(Number(await readFile(pids, 'utf8')), 'SIGKILL');
    expect(await kindOf(long)).toBe('environment-lost');
    expect(await kindOf(call(environment, 'echo', { message: 'x' }))).toBe('environment-lost');
  });

  test('a tool that takes longer than the limit is lost', async () => {
    const environment = await open({ everything: realServer('everything') }, 1_000);
    const long = call(environment, 'trigger-long-running-operation', { duration: 600, steps: 1 });
    expect(await kindOf(long)).toBe('environment-lost');
  });

  test.each([
    ['streamableHttp', 'http', '/mcp'],
    ['sse', 'sse', '/sse'],
  ])('a shared server is reached by %s, and lost when it ends', async (transport, type, path) => {
    const port = String(await freePort());
    const { command, args } = realServer('everything', transport);
    const child = spawn(command, args, { env: { ...process.env, PORT: port }, stdio: 'ignore' });
    started.push(child);
    const url = `http://127.0.0.1:${port}${path}`;
    const shared = { everything: { type, url } };
    const environment = await until('the server answers', () => open(shared).catch(() => undefined));
    expect(await call(environment, 'echo', { message: 'far' })).toMatchObject({ content: 'Echo: far' });
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await kindOf(call(environment, 'echo', { message: 'gone' }))).toBe('environment-lost');
    expect(await kindOf(open(shared))).toBe('environment-unavailable');
  });
});

import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isAlive } from '../../services/cli/up/is-alive.ts';
import { type ClawLoop, clawloop, freePort, startClawLoop, until } from './harness/clawloop.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-up-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const answers = (url: string) =>
  fetch(`${url}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );

describe('a failed start gives its reason in one line, and exits with 2', () => {
  const refusal = async (...argv: string[]) => {
    const { code, stderr } = await clawloop(argv);
    expect(stderr).not.toMatch(/\n +at /); // no stack
    expect(code).toBe(2);
    return stderr;
  };

  test('an unknown flag', async () => {
    expect(await refusal('up', '--data-folder', folder, '--nonsense', '3')).toMatch(/'--nonsense'/);
  });

  test('a folder that cannot be created', async () => {
    await writeFile(join(folder, 'file'), '');
    expect(await refusal('up', '--data-folder', join(folder, 'file', 'data'))).toMatch(/cannot write to/);
  });

  test('a port of another program', async () => {
    const other = createServer((_request, response) => response.end('I am ready'));
    const port = await freePort();
    other.listen(port, '127.0.0.1');
    await once(other, 'listening');
    expect(await refusal('up', '--data-folder', folder, '--port', String(port))).toMatch(/is taken/);
    other.close();
  });
});

describe('a supervised loop', () => {
  let loop: ClawLoop;
  let data: string;
  beforeAll(async () => {
    data = join(folder, 'data');
    loop = await startClawLoop(data);
  });
  afterAll(() => loop.stop());

  test('the first start names a model for real work', async () => {
    await until('it says so', () => loop.output().includes('note: claw-nano is a demo'));
    expect(loop.output()).toMatch(/For real work: --model \S+ or larger/);
  });

  test('a second start on the same folder is refused, and the first one continues', async () => {
    const { code, stderr } = await clawloop([
      'up',
      '--data-folder',
      data,
      '--port',
      String(await freePort()),
    ]);
    expect(code).toBe(2);
    expect(stderr).toContain(`already runs on ${data}, at ${loop.url}, process ${loop.supervisor}`);
    expect(await answers(loop.url)).toBe(true);
  });

  test('a killed service is restarted, and its new process id is available', async () => {
    const { judge } = await loop.pids();
    process.kill(judge!, 'SIGKILL');
    const now = await until('the judge runs again', async () => {
      const pid = (await loop.pids()).judge;
      return pid !== judge && pid;
    });
    expect(isAlive(now)).toBe(true);
    expect(loop.output()).toMatch(/judge: ended \(SIGKILL\); starts again in 0.5 s/);
  });

  test('it continues if nobody reads its output', async () => {
    loop.closeOutput();
    const { collector } = await loop.pids();
    process.kill(collector!, 'SIGKILL'); // so that it prints something
    await until('the collector runs again', async () => {
      const pid = (await loop.pids()).collector;
      return pid !== undefined && pid !== collector;
    });
    expect(isAlive(loop.supervisor)).toBe(true);
    expect(await answers(loop.url)).toBe(true);
  });

  test('its services end with it when it is killed, and the next start takes over', async () => {
    const before = Object.values(await loop.pids());
    expect(before).toHaveLength(4);
    process.kill(loop.supervisor, 'SIGKILL');
    loop = await startClawLoop(data);
    // they first finish work in flight, while the next services start
    await until('the services of the killed one have ended', () => before.every((pid) => !isAlive(pid)));
  });

  test('SIGTERM ends it with 0, and the next start does not repeat the note of the first', async () => {
    expect(await loop.stop()).toBe(0);
    loop = await startClawLoop(data);
    await until('it is ready', () => loop.output().includes('ClawLoop is ready'));
    expect(loop.output()).not.toContain('demo');
  });

  test('the judge uses our own serving at any port', async () => {
    // serving may be ready before the judge says anything
    await until('the judge logs it', async () =>
      (await readFile(join(data, 'logs', 'judge.log'), 'utf8')).includes(`${loop.url}/v1`),
    );
  });

  test('if the endpoint has a key, our judge gets it, and no command line shows it', async () => {
    await loop.stop();
    const key = 'a-key-of-our-own';
    loop = await startClawLoop(data, [
      '--api-key',
      key,
      '--judge-kind',
      'openai',
      '--judge-votes',
      '1',
      '--judge-exam',
      'false',
    ]);
    const ask = (messages: readonly object[]) =>
      fetch(`${loop.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify({ model: 'clawloop', messages, max_tokens: 200 }),
      }).then(async (response) => (await response.json()) as { choices: [{ message: { content: string } }] });
    const question = { role: 'user', content: 'What should I wear in deep snow?' };
    const [{ message }] = (await ask([question])).choices;
    await ask([question, message, { role: 'user', content: 'Perfect, thanks!' }]);
    await until('a vote is cast', async () => {
      const { stdout } = await clawloop([
        'topics',
        'tail',
        'turns',
        '--type',
        'vote.cast',
        '--data-folder',
        data,
      ]);
      return stdout.includes('vote.cast');
    });
    for (const pid of Object.values(await loop.pids()))
      expect(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).not.toContain(key);
  });

  test('nothing in the data folder can be read by another user', async () => {
    const names = await readdir(data, { recursive: true });
    expect(names.length).toBeGreaterThan(10);
    const open: string[] = [];
    for (const name of ['.', ...names]) {
      const found = await stat(join(data, name)).catch(() => undefined); // gone meanwhile
      if (found !== undefined && (found.mode & 0o077) !== 0) open.push(name);
    }
    expect(open).toEqual([]);
  });

  test('it ends with its parent process, and leaves no file that claims that it runs', async () => {
    loop.abandon();
    await until('it is gone', () => !isAlive(loop.supervisor));
    await expect(readFile(join(data, 'running.json'))).rejects.toThrow(/ENOENT/);
  });
});

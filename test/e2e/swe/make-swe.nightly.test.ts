import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Evaluation, OpenEnvironment } from '../../../clients/environments/environment.ts';
import { harborDriver } from '../../../clients/environments/harbor/driver.ts';
import { programAgent } from '../../../clients/rollout/program-agent.ts';
import { makeNodeImage } from '../../../infra/docker/stand-ins/make-stand-ins.ts';
import { describeWithContainers } from '../harbor/describe-with-containers.ts';
import { clawloop } from '../harness/clawloop.ts';

const signal = new AbortController().signal;

/** The reward of an agent's commands in a task. */
const earned = (place: string, name: string, ...commands: readonly string[]): Promise<Evaluation> =>
  earnedBy(place, name, async ({ shell }) => {
    for (const command of commands) {
      const { code, output } = await shell!(command, signal);
      expect(code, output).toBe(0);
    }
  });

async function earnedBy(
  place: string,
  name: string,
  work: (environment: OpenEnvironment) => Promise<void>,
): Promise<Evaluation> {
  const driver = harborDriver({
    place,
    tool: 'podman',
    environments: 1,
    withNetwork: false,
    actLimitMs: 60_000,
  });
  try {
    const episode = await driver.open({ path: name }, { id: `swe-${randomUUID()}`, seed: 0, signal });
    try {
      await work(episode);
      return await episode.evaluate(signal);
    } finally {
      await episode.close();
    }
  } finally {
    await driver.close?.();
  }
}

/** A package of JavaScript with tests for Node's own runner. One of them is flaky. */
const shapes: Readonly<Record<string, string>> = {
  'package.json': '{ "name": "shapes", "version": "1.0.0", "type": "module" }\n',
  'src/shapes.js': `export function area(width, height) {
  if (width < 0 || height < 0) {
    throw new RangeError('a side is negative');
  }
  return width * height;
}

export function longest(words) {
  let best = '';
  for (const word of words) {
    if (word.length > best.length) best = word;
  }
  return best;
}
`,
  'test/shapes.test.js': `import assert from 'node:assert/strict';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { area, longest } from '../src/shapes.js';

describe('area', () => {
  test('of a rectangle', () => assert.equal(area(2, 3), 6));
  test('of a line', () => assert.equal(area(0, 3), 0));
  test('a negative side is refused', () => assert.throws(() => area(-1, 3), RangeError));
});
test('the first of the longest words', () => assert.equal(longest(['a', 'bcd', 'efg', 'hi']), 'bcd'));
test('no words – nothing', () => assert.equal(longest([]), ''));
test('every other run', () => {
  const isSecond = existsSync('second');
  if (isSecond) rmSync('second');
  else writeFileSync('second', '');
  assert.ok(isSecond);
});
`,
};

describeWithContainers('software tasks made from packages', () => {
  let folder: string;
  let tasks: string;
  const make = (...argv: readonly string[]) => clawloop(['env', 'make-swe', ...argv]);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clawloop-make-swe-'));
    tasks = join(folder, 'parse');
    const { code, stdout, stderr } = await make('pypi:parse==1.20.2', '--count', '3', '--out', tasks);
    expect(code, stdout + stderr).toBe(0);
    expect(stdout).toMatch(/3 tasks from \d+ of \d+ changes; 96 tests pass every time, 0 are flaky/);
    expect(stderr).toMatch(/make-swe \[#+] 100 % 3 of 3 tasks/);
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  test('each earns 0 as it is and 1 with the reverse patch, twice', async () => {
    const { code, stdout, stderr } = await clawloop(['env', 'check', `harbor:${tasks}`]);
    expect(code, stdout + stderr).toBe(0);
    expect(stdout).toContain('all 3 tasks are fit');
  });

  test('its instruction, image and history do not reveal the fix, and no container is left', async () => {
    for (const name of await readdir(tasks)) {
      const read = (path: string) => readFile(join(tasks, name, path), 'utf8');
      const added = (await read('solution/fix.patch'))
        .match(/^\+(?!\+).*\S.*$/gm)![0]!
        .slice(1)
        .trim();
      const line = /^line = (\d+)$/m.exec(await read('task.toml'))![1]!;
      const instruction = await read('instruction.md');
      expect(instruction).not.toContain(added);
      expect(instruction).not.toMatch(new RegExp(`(:|line )${line}\\b`));
      expect((await readdir(join(tasks, name, 'environment'))).sort()).toEqual(['Dockerfile', 'source']);
    }
    const left = spawnSync('podman', ['ps', '--all', '--format', '{{.Names}}'], { encoding: 'utf8' });
    expect(left.stdout).not.toContain('clawloop-swe-');
  });

  test('deleting or editing tests earns nothing, and does not hurt a fix', async () => {
    const [name] = (await readdir(tasks)) as [string];
    const always = 'import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport():\n';
    const cheat = `${always}  out = yield\n  out.get_result().outcome = "passed"\n`;
    const deleted = await earned(
      tasks,
      name,
      'rm -rf tests && git -c user.name=A -c user.email=a@b.c commit -qam Done',
    );
    expect(deleted.reward).toBe(0);
    const hooked = `printf '%s' '${cheat}' | tee conftest.py tests/conftest.py > sitecustomize.py`;
    expect((await earned(tasks, name, hooked, 'cp conftest.py pytest.py')).reward).toBe(0);
    expect((await earned(tasks, name, 'rm -rf .git parse.py')).reward).toBe(0);
    const patch = await readFile(join(tasks, name, 'solution/fix.patch'), 'utf8');
    const fixed = await earned(tasks, name, `git apply -p1 <<'END'\n${patch}\nEND`, 'rm -rf tests .git');
    expect(fixed).toMatchObject({ reward: 1, detail: { rewards: { fail_to_pass: 1, pass_to_pass: 1 } } });
  });

  test('a program of this machine fixes the bug in the container', async () => {
    const [name] = (await readdir(tasks)) as [string];
    const patch = join(tasks, name, 'solution/fix.patch');
    const agent = programAgent({ command: `"$CLAWLOOP_EXEC" git apply - < '${patch}'`, model: 'clawloop' });
    const fixed = await earnedBy(tasks, name, async (environment) => {
      const endpoint = {
        baseUrl: 'http://127.0.0.1:9',
        apiKey: 'sk-sess-1',
        session: 's',
        attempt: 0,
        seed: 0,
      };
      await agent({ ...endpoint, task: { id: name }, signal, environment });
    });
    expect(fixed.reward).toBe(1);
  });

  test("the verifier's container has no key of this process, and what the agent starts is not in it", async () => {
    const [name] = (await readdir(tasks)) as [string];
    const copy = join(folder, 'curious');
    await cp(join(tasks, name), join(copy, name), { recursive: true });
    const script = join(copy, name, 'tests/test.sh');
    const text = await readFile(script, 'utf8');
    await writeFile(
      script,
      `${text}\nenv\nls /tmp /proc/[0-9]*/cwd -d\ncat /proc/[0-9]*/cmdline | tr '\\0' ' '\n`,
    );
    vi.stubEnv('OPENAI_API_KEY', 'sk-of-this-process');
    vi.stubEnv('CLAWLOOP_SERVING_API_KEY', 'sk-of-this-process');
    try {
      const { detail } = await earned(copy, name, 'touch /tmp/left; (sleep 4321 >/dev/null 2>&1 &)');
      expect(detail.log).toContain('PATH=');
      expect(detail.log).not.toMatch(/sk-of-this-process|OPENAI|ANTHROPIC|CLAWLOOP|sleep 4321|\/tmp\/left/);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('a folder of JavaScript becomes a task; its flaky test is left out', async () => {
    await makeNodeImage((line) => process.stderr.write(`${line}\n`));
    const [source, out] = [join(folder, 'shapes'), join(folder, 'shapes-tasks')];
    for (const [path, text] of Object.entries(shapes)) {
      await mkdir(dirname(join(source, path)), { recursive: true });
      await writeFile(join(source, path), text);
    }
    const { code, stdout, stderr } = await make(source, '--out', out, '--seed', '5');
    expect(code, stdout + stderr).toBe(0);
    expect(stdout).toMatch(/5 tests pass every time, 1 are flaky and left out/);
    const checked = await clawloop(['env', 'check', `harbor:${out}`]);
    expect(checked.code, checked.stdout + checked.stderr).toBe(0);
    const again = await make(source, '--out', out, '--seed', '5');
    expect([again.code, again.stderr]).toEqual([2, expect.stringMatching(/exists already/)]);
  });

  test('a package without tests is refused', async () => {
    const { code, stderr } = await make('npm:is-number@7.0.0', '--out', join(folder, 'none'));
    expect([code, stderr]).toEqual([2, expect.stringMatching(/is-number 7\.0\.0 comes without tests/)]);
  });
});

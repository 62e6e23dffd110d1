import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { describeWithContainers } from './describe-with-containers.ts';
import { someTasks, terminalTasks } from './tasks.ts';

/** Harbor 0.25 reads the same tasks, but asks for a version of certifi that is not everywhere yet. */
const HARBOR_VERSION = '0.24.0';
/** A folder of the checkout that git ignores. */
const folder = new URL(`../../../.clients/harbor-${HARBOR_VERSION}/`, import.meta.url).pathname;
const harbor = join(folder, 'bin/harbor');
/** ms for an installation, or for a run of all tasks */
const LIMIT_MS = 60 * 60_000;

/** A Python that Harbor accepts. */
function python(): string | undefined {
  const versions = join(homedir(), '.pyenv/versions');
  const own = existsSync(versions)
    ? readdirSync(versions).map((version) => join(versions, version, 'bin/python3'))
    : [];
  const isRecent = 'import sys; sys.exit(sys.version_info < (3, 12))';
  return ['python3', 'python3.13', 'python3.12', ...own].find(
    (command) => spawnSync(command, ['-c', isRecent]).status === 0,
  );
}

const must = (command: string, ...args: readonly string[]) => {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    timeout: LIMIT_MS,
    env: { ...process.env, LITELLM_LOCAL_MODEL_COST_MAP: 'True' }, // otherwise it asks the network
  });
  if (status !== 0)
    throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? `${stdout}${stderr}`.slice(-4_000)}`);
};

const Result = z.looseObject({
  task_name: z.string(),
  verifier_result: z.looseObject({ rewards: z.record(z.string(), z.number()) }).nullish(),
  exception_info: z.unknown(),
});

/** The rewards that Harbor itself gives, by task. */
async function rewardsBy(
  agent: 'nop' | 'oracle',
  tasks: string,
): Promise<Readonly<Record<string, number | undefined>>> {
  const jobs = await mkdtemp(join(tmpdir(), 'clawloop-harbor-jobs-'));
  onTestFinished(() => rm(jobs, { recursive: true, force: true }));
  must(
    harbor,
    'run',
    '--path',
    tasks,
    '--agent',
    agent,
    '--env',
    'podman',
    '--jobs-dir',
    jobs,
    '--n-concurrent',
    '2',
    '--yes',
    '--quiet',
  );
  const files = readdirSync(jobs, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /^[^/]+\/[^/]+\/result\.json$/.test(path),
  );
  const results = files.map((path) => Result.parse(JSON.parse(readFileSync(join(jobs, path), 'utf8'))));
  return Object.fromEntries(
    results.map((result) => [result.task_name.split('/').at(-1)!, result.verifier_result?.rewards.reward]),
  );
}

describeWithContainers("Harbor's own command on the terminal tasks", () => {
  beforeAll(() => {
    if (existsSync(harbor)) return;
    const found = python();
    if (found === undefined) throw new Error('Harbor needs Python 3.12 or newer');
    must(found, '-m', 'venv', folder);
    must(join(folder, 'bin/pip'), 'install', '--quiet', `harbor==${HARBOR_VERSION}`);
  }, LIMIT_MS);

  test('gives the same rewards, except where the agent attacks the tests', async () => {
    // Harbor lets the processes of an agent live while it rates.
    const names = terminalTasks().filter((name) => name !== 'hostile-agent');
    const tasks = someTasks(...names);
    onTestFinished(() => rm(tasks, { recursive: true }));
    for (const name of names) {
      // Harbor with podman refuses tasks without a network.
      const path = join(tasks, name, 'task.toml');
      writeFileSync(
        path,
        readFileSync(path, 'utf8').replaceAll(/^(network_mode|allow_internet) = .*$/gm, ''),
      );
    }
    expect(await rewardsBy('nop', tasks)).toEqual(Object.fromEntries(names.map((name) => [name, 0])));
    expect(await rewardsBy('oracle', tasks)).toEqual(Object.fromEntries(names.map((name) => [name, 1])));
  });
});

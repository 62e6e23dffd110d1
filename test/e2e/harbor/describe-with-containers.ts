import { spawnSync } from 'node:child_process';
import { beforeAll, describe } from 'vitest';
import { makeSlimDebian } from '../../../infra/docker/stand-ins/make-stand-ins.ts';
import { containerSettings, whyNoContainers } from '../../../infra/docker/stand-ins/podman.ts';

/** ms: debootstrap takes half a minute */
const IMAGE_LIMIT_MS = 10 * 60_000;

/**
 * Tests with real containers on a Debian that is made here. Where containers cannot run, the suite is skipped and its
 * name says why; with CLAWLOOP_REQUIRE_ALL=1 it fails. Commands that the tests start use the tests' own images.
 */
export function describeWithContainers(name: string, tests: () => void): void {
  const missing = process.env.CLAWLOOP_REQUIRE_ALL === '1' ? null : whyNoContainers();
  describe.skipIf(missing !== null)(missing === null ? name : `${name} (${missing})`, () => {
    beforeAll(async () => {
      Object.assign(process.env, containerSettings());
      await makeSlimDebian((line) => process.stderr.write(`${line}\n`));
    }, IMAGE_LIMIT_MS);
    tests();
  });
}

/** Ids of the containers of tasks, by the tasks' names. */
export const containersOf = (...tasks: readonly string[]): readonly string[] =>
  tasks.flatMap((task) => labelled(`clawloop.task=${task}`));

/** Ids of the containers of a process. */
export const containersOfProcess = (pid: number): readonly string[] => labelled(`clawloop.process=${pid}`);

function labelled(label: string): readonly string[] {
  const { stdout } = podman('ps', '--all', '--quiet', '--filter', `label=${label}`);
  return stdout.split('\n').filter(Boolean);
}

/** Runs podman to its end. */
export const podman = (...args: readonly string[]) => spawnSync('podman', args, { encoding: 'utf8' });

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { environmentFailure } from '../environment-failure.ts';
import type { Container } from './container.ts';
import { isExecutable } from './is-executable.ts';
import type { Phase } from './phases.ts';
import type { TaskFile } from './task-file.ts';
import { resolveVariables } from './variables.ts';

/** ms for a reference solution when the task sets the agent no limit */
const LIMIT_MS = 900_000;

/**
 * Carries out the reference solution of a step, as the agent's user. Its exit status does not matter; only the tests
 * count.
 *
 * @throws EnvironmentFailure
 */
export async function runSolution(
  container: Container,
  { solution }: TaskFile,
  phase: Phase,
  signal: AbortSignal,
): Promise<void> {
  const script = join(phase.solution, 'solve.sh');
  if (!existsSync(script)) throw environmentFailure('environment-broken', `the task has no ${script}`);
  await container.copyIn(phase.solution, '/solution');
  if (!isExecutable(script))
    await container.run('chmod +x /solution/solve.sh', { user: '0', limitMs: LIMIT_MS, signal });
  await container.run('(/solution/solve.sh) > /logs/agent/oracle.txt 2>&1', {
    user: phase.user,
    env: { DEBIAN_FRONTEND: 'noninteractive', ...resolveVariables(solution.env, process.env) },
    limitMs: phase.limitMs ?? LIMIT_MS,
    storageMb: container.storageMb,
    signal,
  });
}

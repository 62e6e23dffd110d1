import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { environmentFailure } from '../environment-failure.ts';
import { transferArtifacts } from './artifacts.ts';
import type { Container } from './container.ts';
import { isExecutable } from './is-executable.ts';
import type { Grading } from './phases.ts';
import { isProblem, type Rewards, readRewards } from './reward-file.ts';
import { resolveVariables } from './variables.ts';

export type Graded = {
  readonly rewards: Rewards;
  /** the end of the tests' output */
  readonly log: string;
};

/** ms for commands that only prepare or read */
const PREPARE_MS = 60_000;
/** bytes of the tests' output */
const LOG_BYTES = 4_000;

/**
 * Rates the state of a container, as Harbor does. The agent's processes are ended first, and nothing that it wrote in
 * /tests and /logs/verifier remains. A separate verifier gets the artifacts and nothing else.
 *
 * @param openFresh starts the container of a separate verifier
 * @throws EnvironmentFailure `evaluation-failed` when the verifier gives no reward; `environment-lost`
 */
export async function grade(
  container: Container,
  grading: Grading,
  openFresh: () => Promise<Container>,
  signal: AbortSignal,
): Promise<Graded> {
  if (grading.mode === 'shared') {
    await container.restart(signal);
    return verify(container, grading, signal);
  }
  for (const { command, timeout_sec: seconds, user } of grading.collect)
    await container.run(command, { user, limitMs: seconds * 1000, signal });
  await container.restart(signal);
  const fresh = await openFresh();
  try {
    await transferArtifacts(container, fresh, grading.artifacts, signal);
    return await verify(fresh, grading, signal);
  } finally {
    await fresh.remove();
  }
}

async function verify(container: Container, grading: Grading, signal: AbortSignal): Promise<Graded> {
  const { tests, user, env, limitMs } = grading;
  const asRoot = { user: '0', limitMs: PREPARE_MS, signal };
  const folders = tests.length === 0 ? '/logs/verifier' : '/logs/verifier /tests';
  const emptied = await container.run(
    `rm -rf ${folders} && mkdir -p ${folders} && chmod 777 /logs/verifier`,
    asRoot,
  );
  if (emptied.code !== 0) throw failed(`cannot prepare the container: ${emptied.output.slice(-300)}`);
  for (const folder of tests) await container.copyIn(folder, '/tests');
  await makeExecutable(container, tests, signal);
  const { killed } = await container.run('(/tests/test.sh) > /logs/verifier/test-stdout.txt 2>&1', {
    user,
    env: resolveVariables(env, process.env),
    limitMs,
    signal,
  });
  const { json, text, log } = await readVerifier(container, signal);
  if (killed !== undefined) throw failed(`the tests did not end within ${limitMs / 1000} s`, log);
  const rewards = readRewards(json, text);
  if (isProblem(rewards)) throw failed(rewards.problem, log);
  return { rewards, log };
}

/** A command in the container costs a tenth of a second: it is left out if the file already has the right mode. */
async function makeExecutable(
  container: Container,
  tests: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const scripts = tests.map((folder) => join(folder, 'test.sh')).filter((path) => existsSync(path));
  if (scripts.length > 0 && scripts.every(isExecutable)) return;
  await container.run('chmod +x /tests/test.sh', { user: '0', limitMs: PREPARE_MS, signal });
}

const failed = (problem: string, log = '') =>
  environmentFailure(
    'evaluation-failed',
    log === '' ? problem : `${problem}; the tests printed: ${log.slice(-600)}`,
  );

/** Reads the files of the verifier by one command. Only this call knows the line between them. */
async function readVerifier(container: Container, signal: AbortSignal) {
  const line = `== ${randomUUID()}`;
  const read = (path: string, how: string) =>
    `echo; echo '${line}'; if [ -f ${path} ]; then echo +; ${how} ${path}; fi`;
  const { output } = await container.run(
    [
      read('/logs/verifier/reward.json', 'head -c 20000'),
      read('/logs/verifier/reward.txt', 'head -c 20000'),
      read('/logs/verifier/test-stdout.txt', `tail -c ${LOG_BYTES}`),
    ].join('; '),
    { user: '0', limitMs: PREPARE_MS, signal },
  );
  const [, ...parts] = output.split(`${line}\n`);
  const [json, text, log] = parts.map((part) => (part.startsWith('+\n') ? part.slice(2) : undefined));
  return { json, text, log: (log ?? '').trim() };
}

import { z } from 'zod';
import { unlessAborted } from '../../../shared/lang/async.ts';
import type { Evaluation, FunctionTool, OpenEnvironment, ShellResult } from '../environment.ts';
import { environmentFailure, environmentFailureKind } from '../environment-failure.ts';
import { clip } from './clip.ts';
import { type OpenOptions, type PoolKind, shared } from './kind.ts';
import type { Lease } from './lease.ts';
import { type AllocateOptions, allocatePatiently, type Pool } from './pool.ts';
import { Diffed, Executed, Resolved } from './wire.ts';

const Instance = z.looseObject({
  instance_id: z.string().min(1),
  image_name: z.string().min(1),
  eval_script: z.string().min(1),
  problem_statement: z.string().min(1),
});
type Instance = z.output<typeof Instance>;

/** A row as SWE-bench has it, or as OpenClaw-RL's preparation writes it. */
const Line = z.union([
  z
    .looseObject({ metadata: z.looseObject({ instance: Instance }) })
    .transform(({ metadata }) => metadata.instance),
  Instance,
]);

/** Where the images of SWE-bench keep the repository. */
const FOLDER = '/testbed';

/** ms: a container starts within two minutes, or the server gives up */
const ALLOCATE_LIMIT = 180_000;
/** ms: the server gives up after a minute */
const DIFF_LIMIT = 90_000;
/** s that the tests may take */
const TEST_LIMIT_S = 3_600;
/** ms: tests and the way */
const TESTED_LIMIT = (TEST_LIMIT_S + 120) * 1000;
/** ms: wait for a container, start it, and run the tests in it */
const EVALUATE_LIMIT = TESTED_LIMIT + 2 * ALLOCATE_LIMIT;
/** ms that the answer to a command may come later than the command's own limit */
const WAY_LIMIT = 60_000;

const bash: FunctionTool = {
  type: 'function',
  function: {
    name: 'bash',
    description: `Runs a command with bash in ${FOLDER}. Each command gets a new shell.`,
    parameters: {
      type: 'object',
      properties: { command: { type: 'string' } },
      required: ['command'],
      additionalProperties: false,
    },
  },
};

/** Containers with a repository, from swe-rl's `swe_env_pool_server`. */
export const swePool: PoolKind<Instance> = {
  read: (line) => {
    const row = Line.parse(line);
    return { name: row.instance_id, row };
  },
  closeLimitMs: 60_000,
  open: async (pool, instance, options) => {
    const lease = await pool.allocate(
      { image: instance.image_name, instance_id: instance.instance_id },
      { isIdempotent: false, limitMs: ALLOCATE_LIMIT, signal: options.signal },
    );
    return episode(pool, lease, instance, options);
  },
};

function episode(pool: Pool, lease: Lease, instance: Instance, { actLimitMs }: OpenOptions): OpenEnvironment {
  const over = new AbortController();
  const shell = shellOf(lease, actLimitMs);
  let patch: string | undefined;
  const evaluate = shared(async () => {
    patch ??= await patchOf(lease);
    // First give the place back: if all attempts kept one while they wait for a second, none could continue.
    await lease.close();
    return patch.trim() === '' ? unchanged : test(pool, instance, patch, over.signal);
  });
  return {
    messages: [
      {
        role: 'user',
        content: `The repository is in ${FOLDER}. Resolve this issue by changing its files.\n\n${instance.problem_statement}`,
      },
    ],
    tools: [bash],
    takesText: false,
    shell,
    act: async ({ arguments: { command } }, signal) => {
      if (typeof command !== 'string' || command.trim() === '')
        return { content: 'bash needs a `command`.', isError: true, isDone: false };
      const { code, output } = await shell(command, signal);
      const status = code === undefined ? `timed out after ${actLimitMs / 1000} s` : `exit status ${code}`;
      return { content: `${clip(output)}\n[${status}]`, isError: code !== 0, isDone: false };
    },
    evaluateLimitMs: EVALUATE_LIMIT,
    evaluate: (signal) => unlessAborted(evaluate(), signal),
    close: async () => {
      over.abort(new Error('the environment is closed'));
      await lease.close();
    },
  };
}

/** The policy left the repository as it was. */
const unchanged: Evaluation = { reward: 0, detail: { resolved: false, reason: 'nothing was changed' } };

/** Docker's text instead of a command's output when the container is gone. */
const goneContainer = /^(Error response from daemon|Error: No such container)/;
/** The server's text when it ended a command. */
const timedOut = /^Command timed out after \d+/;

function shellOf(lease: Lease, actLimitMs: number) {
  const timeout = Math.ceil(actLimitMs / 1000);
  const limitMs = timeout * 1000 + WAY_LIMIT;
  const execute = (command: string, signal: AbortSignal) =>
    lease.ask('/exec', { command, cwd: FOLDER, timeout, env: {} }, Executed, {
      phase: 'acting',
      limitMs,
      signal,
    });
  return async (command: string, signal: AbortSignal): Promise<ShellResult> => {
    const { returncode: code, output } = await execute(command, signal);
    if (code === -1 && timedOut.test(output)) return { code: undefined, output };
    // A command can print the same words, so ask the container itself.
    if (code !== 0 && goneContainer.test(output) && (await execute('true', signal)).returncode !== 0)
      throw environmentFailure('environment-lost', `the container is gone: ${output.trim().slice(0, 200)}`);
    return { code, output };
  };
}

async function patchOf(lease: Lease): Promise<string> {
  const options = { phase: 'evaluating' as const, limitMs: DIFF_LIMIT };
  const { patch, returncode = 0, error } = await lease.ask('/diff', { cwd: FOLDER }, Diffed, options);
  if (returncode === 0) return patch;
  throw environmentFailure('evaluation-failed', `/diff: git ended with ${returncode}: ${error ?? ''}`.trim());
}

/** Statuses of a container that was killed or that docker could not enter: no test gave a result. */
const noVerdict = new Set([125, 137]);

/** Tests the patch in a fresh container, which the policy has not used. */
async function test(
  pool: Pool,
  { instance_id: instance, image_name: image, eval_script: script }: Instance,
  patch: string,
  over: AbortSignal,
): Promise<Evaluation> {
  const signal = AbortSignal.any([over, AbortSignal.timeout(2 * ALLOCATE_LIMIT)]);
  const options: AllocateOptions = { isIdempotent: false, limitMs: ALLOCATE_LIMIT, signal };
  const fresh = await allocatePatiently(
    pool,
    { image, instance_id: `${instance}__eval` },
    options,
    isBusy,
  ).catch((error: Error) => {
    throw environmentFailure('evaluation-failed', `no container for the tests: ${error.message}`);
  });
  try {
    const { resolved, returncode, output, error } = await fresh.ask(
      '/evaluate',
      { patch, eval_script: script, cwd: FOLDER, timeout: TEST_LIMIT_S },
      Resolved,
      { phase: 'evaluating', limitMs: TESTED_LIMIT, signal: over },
    );
    // The server answers `resolved: false` also when it tested nothing.
    if (error) throw environmentFailure('evaluation-failed', `/evaluate: ${error}`);
    const isGone = goneContainer.test(output ?? '');
    if (!resolved && (returncode === undefined || noVerdict.has(returncode) || isGone))
      throw environmentFailure('evaluation-failed', `/evaluate: the tests ended with status ${returncode}`);
    return { reward: resolved ? 1 : 0, detail: { resolved, returncode, output } };
  } finally {
    await fresh.close();
  }
}

const isBusy = (error: unknown): boolean => environmentFailureKind(error) === 'environment-unavailable';

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { type ClawLoop, clawloop, startClawLoop } from '../harness/clawloop.ts';
import { type PolicyAnswer, type PolicyRequest, scriptedPolicy } from './scripted-policy.ts';
import { type OpenEnvServer, startOpenEnv } from './start-server.ts';

type ResultLine = {
  readonly task: string;
  readonly attempt: number;
  readonly outcome: string;
  readonly reward: number | null;
  readonly advantage: number | null;
  readonly error: string | null;
  readonly earlier: readonly string[];
  readonly result: { readonly ended: string; readonly steps: number } | null;
};

type Rolled = { readonly code: number; readonly lines: readonly ResultLine[]; readonly printed: string };

/** What the tests of a file share. */
export type RolloutTools = {
  /** Sets how the policy answers. */
  readonly decide: (next: (request: PolicyRequest) => PolicyAnswer) => void;
  /** Starts an OpenEnv server, which ends with the test. */
  readonly open: typeof startOpenEnv;
  /** Runs a rollout; its lines are in the order of tasks and attempts. */
  readonly roll: (server: OpenEnvServer, ...flags: string[]) => Promise<Rolled>;
  /** The same in any environment, as `--env` names it. */
  readonly rollIn: (environment: string, ...flags: string[]) => Promise<Rolled>;
  /** Runs another command on the same data folder. */
  readonly run: (...argv: string[]) => ReturnType<typeof clawloop>;
};

/** Starts ClawLoop on a scripted policy before the tests of a file. Nothing trains. */
export function withRollouts(): RolloutTools {
  let folder: string;
  let loop: ClawLoop;
  let policy: Awaited<ReturnType<typeof scriptedPolicy>>;
  let answer: (request: PolicyRequest) => PolicyAnswer = () => '';
  const servers: OpenEnvServer[] = [];
  let rollouts = 0;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clawloop-openenv-'));
    policy = await scriptedPolicy((request) => answer(request));
    loop = await startClawLoop(folder, [
      '--serving-engine',
      'upstream',
      '--serving-upstream-url',
      policy.url,
      '--serving-upstream-token-ids',
      '--serving-upstream-logprobs',
      'raw',
      '--collector-batch-size',
      '1000',
    ]);
  });
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.kill();
  });
  afterAll(async () => {
    await loop?.stop();
    await policy?.close();
    await rm(folder, { recursive: true, force: true });
  });
  const run = (...argv: string[]) => clawloop([...argv, '--data-folder', folder]);
  const rollIn: RolloutTools['rollIn'] = async (environment, ...flags) => {
    const out = join(folder, `results-${rollouts++}.jsonl`);
    // a seed of its own, since the policy recognises conversations by their seeds
    const own = ['--env', environment, '--seed', String(rollouts), '--out', out];
    const { code, stdout, stderr } = await run('rollout', ...own, ...flags, '--url', loop.url);
    const lines = (await readFile(out, 'utf8').catch(() => ''))
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as ResultLine)
      .sort((a, b) => a.task.localeCompare(b.task) || a.attempt - b.attempt);
    return { code, lines, printed: stdout + stderr };
  };
  return {
    decide: (next) => {
      answer = next;
    },
    open: async (...input) => {
      const server = await startOpenEnv(...input);
      servers.push(server);
      return server;
    },
    roll: (server, ...flags) => rollIn(`openenv:${server.url}`, ...flags),
    rollIn,
    run,
  };
}

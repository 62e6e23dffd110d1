import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mean } from '../../../shared/lang/numbers.ts';
import { createRandom } from '../../../shared/policy/model/random.ts';
import { watchLog } from '../../e2e/demo/log-watch.ts';
import { clawloop, startClawLoop } from '../../e2e/harness/clawloop.ts';
import type { Experiment, Question } from './experiment.ts';
import { startMcpServer } from './mcp-server.ts';
import { shuffled } from './routing-questions.ts';

type Point = {
  /** attempts before */
  readonly attempts: number;
  readonly version: number;
  /** share of held-out questions that the version gets right */
  readonly heldOut: number;
  /** mean reward of the rollout before; undefined at the start */
  readonly reward?: number | undefined;
  /** batches of the rollout before that made no version, by reason; absent if there were none */
  readonly rejected?: Readonly<Record<string, number>>;
};

export type SeedReport = {
  readonly seed: number;
  readonly learning: boolean;
  readonly points: readonly Point[];
  readonly seconds: number;
  readonly audit: string;
};

export type SeedOptions = {
  readonly seed: number;
  readonly learning: boolean;
  readonly rounds: number;
  /** questions per round */
  readonly questions: number;
  /** attempts at each question */
  readonly n: number;
  readonly print: (line: string) => void;
};

/** One ClawLoop of its own that learns from rollouts with real MCP tools. */
export async function runSeed(experiment: Experiment, options: SeedOptions): Promise<SeedReport> {
  const { seed, learning, rounds, n, print } = options;
  const began = performance.now();
  const folder = await mkdtemp(join(tmpdir(), `clawloop-${experiment.name}-`));
  // If learning were only paused, serving would soon refuse attempts, because their samples do not train.
  const paused = learning ? [] : ['--collector-batch-size', '2000'];
  const loop = await startClawLoop(folder, [...experiment.flags, ...paused]);
  let rejected: Record<string, number> = {};
  const watch = await watchLog(folder, began, (event) => {
    if (event.type === 'policy.rejected')
      rejected[event.data.reason] = (rejected[event.data.reason] ?? 0) + 1;
  });
  const tools = await startMcpServer(experiment.example, join(folder, 'servers.json'));
  const { training, heldOut } = experiment.split(seed);
  const nextTasks = dealer(training, `${experiment.name}/order/${seed}`);
  const run = (...argv: string[]) => clawloop([...argv, '--data-folder', folder]);
  const points: Point[] = [];
  const measure = async (attempts: number, reward?: number) => {
    const version = watch.served();
    const share = await experiment.shareRight(loop.url, version, heldOut);
    const refusals = Object.entries(rejected);
    points.push({ attempts, version, heldOut: share, reward, ...(refusals.length > 0 && { rejected }) });
    rejected = {};
    print(
      `  ${String(attempts).padStart(5)} attempts  v${String(version).padEnd(4)} held out right ` +
        `${Math.round(share * 100)} %  mean reward ${reward?.toFixed(2) ?? '-'}` +
        refusals.map(([reason, count]) => `  ${reason} ${count}`).join(''),
    );
  };
  try {
    if (!learning) await run('learning', 'pause');
    await measure(0);
    let attempts = 0;
    for (let round = 1; round <= rounds; round++) {
      const file = join(folder, `round-${round}`);
      const tasks = nextTasks(options.questions);
      const flags = ['--n', String(n), '--seed', String(seed * 1000 + round), '--url', loop.url];
      const rewards = await rollOut(run, { experiment, file, tasks, tools: tools.file, flags });
      attempts += rewards.length;
      await watch.settle();
      await measure(attempts, mean(rewards));
    }
    const audit = await run('audit');
    return {
      seed,
      learning,
      points,
      seconds: Math.round((performance.now() - began) / 1000),
      audit: audit.code === 0 ? 'balances' : `${audit.stdout}${audit.stderr}`,
    };
  } finally {
    await tools.stop();
    await watch.close();
    await loop.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Gives all questions in random order before it gives one again. */
function dealer<Task>(questions: readonly Task[], seed: string) {
  const random = createRandom(seed);
  let left: readonly Task[] = [];
  return (count: number): readonly Task[] => {
    if (left.length < count) left = shuffled(questions, random);
    const dealt = left.slice(0, count);
    left = left.slice(count);
    return dealt;
  };
}

type Round = {
  readonly experiment: Pick<Experiment, 'agent' | 'example'>;
  /** path without an ending */
  readonly file: string;
  readonly tasks: readonly Question[];
  /** file of the MCP server */
  readonly tools: string;
  readonly flags: readonly string[];
};

/** One `clawloop rollout`. @returns the reward of each attempt */
async function rollOut(
  run: (...argv: string[]) => ReturnType<typeof clawloop>,
  { experiment, file, tasks, tools, flags }: Round,
): Promise<readonly number[]> {
  const [data, out] = [`${file}.jsonl`, `${file}-results.jsonl`];
  await writeFile(data, tasks.map((task) => `${JSON.stringify(task)}\n`).join(''));
  const { code, stdout, stderr } = await run(
    'rollout',
    '--env',
    `mcp:${tools}`,
    '--agent',
    experiment.agent,
    '--reward',
    fileURLToPath(new URL(`../../../examples/${experiment.example}/reward.ts`, import.meta.url)),
    '--data',
    data,
    '--out',
    out,
    '--concurrency',
    '8',
    ...flags,
  );
  if (code !== 0) throw new Error(`the rollout ended with ${code}:\n${stdout}${stderr}`);
  const lines = (await readFile(out, 'utf8')).split('\n').filter(Boolean);
  return lines.map((line) => (JSON.parse(line) as { readonly reward: number }).reward);
}

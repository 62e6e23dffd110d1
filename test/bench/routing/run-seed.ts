import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRandom } from '../../../shared/policy/model/random.ts';
import { watchLog } from '../../e2e/demo/log-watch.ts';
import { clawloop, startClawLoop } from '../../e2e/harness/clawloop.ts';
import { shareRight } from './evaluate.ts';
import { exampleFile, shuffled, splitQuestions } from './questions.ts';
import { startRoutingServer } from './routing-server.ts';

export type Point = {
  readonly attempts: number;
  readonly version: number;
  /** share of held-out questions for which the right tool is preferred */
  readonly heldOut: number;
  /** mean reward of the rollout before; undefined at the start */
  readonly reward: number | undefined;
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
  readonly flags: readonly string[];
  readonly print: (line: string) => void;
};

/** One ClawLoop of its own that learns to route questions, by rollouts through real MCP tools. */
export async function runSeed(options: SeedOptions): Promise<SeedReport> {
  const { seed, learning, rounds, n, print } = options;
  const began = performance.now();
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-routing-'));
  const loop = await startClawLoop(folder, options.flags);
  const watch = await watchLog(folder, began);
  const tools = await startRoutingServer(join(folder, 'servers.json'));
  const { training, heldOut } = splitQuestions(seed);
  const random = createRandom(`routing/order/${seed}`);
  const run = (...argv: string[]) => clawloop([...argv, '--data-folder', folder]);
  try {
    if (!learning) await run('learning', 'pause');
    const points: Point[] = [];
    const measure = async (attempts: number, reward: number | undefined) => {
      const version = watch.served();
      const point = { attempts, version, heldOut: await shareRight(loop.url, version, heldOut), reward };
      points.push(point);
      print(
        `  ${String(attempts).padStart(5)} attempts  v${String(version).padEnd(4)} held out right ` +
          `${Math.round(point.heldOut * 100)} %  mean reward ${reward?.toFixed(2) ?? '-'}`,
      );
    };
    await measure(0, undefined);
    let order: typeof training = [];
    for (let round = 1; round <= rounds; round++) {
      if (order.length < options.questions) order = shuffled(training, random);
      const tasks = order.slice(0, options.questions);
      order = order.slice(options.questions);
      const data = join(folder, `round-${round}.jsonl`);
      await writeFile(data, tasks.map((task) => `${JSON.stringify(task)}\n`).join(''));
      const out = join(folder, `round-${round}-results.jsonl`);
      const { code, stdout, stderr } = await run(
        'rollout',
        ...[
          '--env',
          `mcp:${tools.file}`,
          '--agent',
          exampleFile('agent.ts'),
          '--reward',
          exampleFile('reward.ts'),
        ],
        ...['--data', data, '--out', out, '--n', String(n), '--concurrency', String(n)],
        ...['--seed', String(seed * 1000 + round), '--url', loop.url],
      );
      if (code !== 0) throw new Error(`the rollout ended with ${code}:\n${stdout}${stderr}`);
      if (process.env.VERBOSE) print(stdout);
      await watch.settle();
      const rewards = (await readFile(out, 'utf8'))
        .split('\n')
        .filter(Boolean)
        .map((line) => (JSON.parse(line) as { readonly reward: number }).reward);
      await measure(round * tasks.length * n, rewards.reduce((sum, one) => sum + one, 0) / rewards.length);
    }
    if (process.env.VERBOSE) {
      print((await run('policy', 'list')).stdout);
      print((await run('turns', 'list', '--why')).stdout.split('\n').slice(0, 30).join('\n'));
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

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { clawloop, until } from '../harness/clawloop.ts';
import { killingProxy } from './killing-proxy.ts';
import type { RolloutTools } from './with-rollouts.ts';

type Line = {
  readonly outcome: string;
  readonly session: string;
  /** steps: answers of the policy */
  readonly result: { readonly steps: number };
};
type Turn = { readonly session: string; readonly stage: { readonly kind: string; readonly reason?: string } };

const unsettled: ReadonlySet<string> = new Set([
  'waiting-for-end-of-session',
  'waiting-for-verdict',
  'waiting-for-session',
]);

const rows = <Row>(text: string): readonly Row[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Row);

type Victim = 'rollout' | 'serving';

/** The rollout of a suite. */
type Subject = {
  /** flags that name the environment and its tasks */
  readonly flags: readonly string[];
  readonly attempts: number;
  /** after each rollout, and its resumption */
  readonly afterwards?: () => Promise<void>;
};

/**
 * Kills rollouts of two tasks of a real OpenEnv server with two attempts each, as `expectKillsOf` does.
 */
export async function expectKillsToBalance(tools: RolloutTools, victim: Victim, step: number): Promise<void> {
  // one attempt at each task is right: the colour of the lamp, and that of the door
  tools.decide(({ conversation }) => ['red', 'blue', 'blue', 'green'][conversation % 4]!);
  const server = await tools.open('room', ['--max-concurrent-envs', '64']);
  const flags = ['--env', `openenv:${server.url}`, '--tasks', '2', '--n', '2', '--max-steps', '1'];
  await expectKillsOf({ flags, attempts: 4 }, tools, victim, step);
}

/**
 * Kills rollouts, or the serving process, at every `step`-th request of a rollout: before the server has the request, and
 * after it has answered. A killed rollout is resumed. Nothing may be lost, and nothing count twice.
 */
export async function expectKillsOf(
  { flags, attempts, afterwards = async () => {} }: Subject,
  tools: RolloutTools,
  victim: Victim,
  step: number,
): Promise<void> {
  const proxy = await killingProxy(tools.url);
  /** answers by session */
  const counted = new Map<string, number>();
  let rollouts = 0;
  const roll = async (at: number, when: 'before' | 'after'): Promise<void> => {
    const out = join(tools.folder(), `killed-${at}-${when}.jsonl`);
    const argv = [
      'rollout',
      ...flags,
      '--seed',
      String(1_000 + 10 * rollouts++),
      '--out',
      out,
      '--data-folder',
      tools.folder(),
      // environments of killed rollouts are free soon, and those of a killed server are not lost
      '--lease-timeout',
      victim === 'rollout' ? '10' : '300',
      '--retries',
      '2',
      '--url',
      proxy.url,
    ];
    let ended = await clawloop(argv, {}, (signal) =>
      proxy.arm(at, when, () =>
        victim === 'rollout' ? signal('SIGKILL') : void tools.killServing().catch(() => {}),
      ),
    );
    if (ended.code !== 0 && victim === 'rollout') {
      const began = await readFile(`${out}.journal`).catch(() => undefined);
      ended = await clawloop(began === undefined ? argv : [...argv, '--resume']);
    }
    expect(ended.code, `killed ${when} request ${at}: ${ended.stdout}${ended.stderr}`).toBe(0);
    const lines = rows<Line>(await readFile(out, 'utf8'));
    expect(lines.map(({ outcome }) => outcome)).toEqual(Array(attempts).fill('rewarded'));
    await afterwards();
    for (const { session, result } of lines) counted.set(session, result.steps);
  };
  try {
    await roll(Number.POSITIVE_INFINITY, 'before');
    const requests = proxy.count();
    // a rollout begins only if a server answers
    for (let at = victim === 'rollout' ? 0 : 2; at < requests; at += step)
      for (const when of ['before', 'after'] as const) await roll(at, when);
    await expectCountedOnce(tools, counted);
  } finally {
    await proxy.close();
  }
}

/** Checks that exactly the turns of these sessions train, and that the audit balances. */
async function expectCountedOnce(tools: RolloutTools, counted: ReadonlyMap<string, number>): Promise<void> {
  await until('every environment is free', async () => {
    const response = await fetch(`${tools.url()}/rl/environments`);
    return ((await response.json()) as { data: readonly unknown[] }).data.length === 0;
  });
  const trains = await until('every turn is settled', async () => {
    const turns = rows<Turn>((await tools.run('turns', 'list', '--json')).stdout);
    if (turns.some(({ stage }) => unsettled.has(stage.kind))) return undefined;
    return turns.filter(({ stage }) => stage.kind !== 'not-trained');
  });
  const answers = new Map<string, number>();
  for (const { session } of trains) answers.set(session, (answers.get(session) ?? 0) + 1);
  expect(answers).toEqual(counted);
  const { code, stdout } = await tools.run('audit');
  expect(stdout).toMatch(/^balances$/m);
  expect(code).toBe(0);
}

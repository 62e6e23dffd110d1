import { poolDriver } from '../../../clients/environments/pool/driver.ts';
import type { Agent, AgentInput } from '../../../clients/rollout/contract.ts';
import { kindsOf, roll } from '../../../clients/rollout/testing/roll.ts';

type Settings = Parameters<typeof poolDriver>[0];

export const terminalTask = {
  task: {
    task_name: 'hello',
    task_path: 'seta/hello',
    instruction: 'Write hello to a.txt and b.txt.',
    data_source: 'terminal_bench',
  },
};

export const sweTask = {
  instance_id: 'ann__calc-7',
  image_name: 'docker.io/ann/calc:latest',
  eval_script: 'fixed',
  problem_statement: 'The sum is wrong.',
};

export const guiTask = {
  id: 'save-it',
  instruction: 'Save it.',
  config: [],
  evaluator: { func: 'exact_match' },
};

/** Runs a rollout of one task with a pool server, in the memory of this process. */
export async function attempts(
  { url, kind, actLimitMs = 5_000, ...rest }: Partial<Settings> & Pick<Settings, 'url' | 'kind'>,
  given: Parameters<typeof roll>[0],
) {
  const driver = poolDriver({ url, kind, actLimitMs, ...rest });
  const data = [{ terminal: terminalTask, swe: sweTask, gui: guiTask }[kind!]!];
  const rolled = await roll({
    data,
    n: 1,
    reward: undefined,
    environments: driver,
    ...given,
  });
  await driver.close!();
  return {
    ...rolled,
    kinds: kindsOf(rolled.settled),
    earlier: rolled.settled.map(({ outcome }) => outcome.earlier),
    errors: rolled.settled.map(({ outcome }) => (outcome.kind === 'failed' ? outcome.error : undefined)),
    remarks: driver.remarks!(),
  };
}

/** An agent that makes these calls in order, and returns its observations. */
export const calls =
  (...made: readonly (readonly [name: string, given: Readonly<Record<string, unknown>>])[]): Agent =>
  async ({ environment, signal }: AgentInput) => {
    const seen: string[] = [];
    for (const [index, [name, given]] of made.entries()) {
      const { content } = await environment!.act({ id: `${index}`, name, arguments: given }, signal);
      seen.push(content);
    }
    return seen;
  };

export const shell = (command: string) => ['shell_exec', { id: 's', command, block: true }] as const;

import { existsSync } from 'node:fs';
import type {
  Action,
  Evaluation,
  FunctionTool,
  Observation,
  OpenEnvironment,
  ShellResult,
} from '../environment.ts';
import { environmentFailure, environmentFailureKind } from '../environment-failure.ts';
import { type Container, checkHealth } from './container.ts';
import type { ContainerTool } from './container-tool.ts';
import { type Graded, grade } from './grading.ts';
import type { Grading, Phase } from './phases.ts';
import { quoted } from './quoted.ts';
import { combineSteps, type Rewards, reaches } from './reward-file.ts';
import { shellResultOf } from './shell-result.ts';
import { runSolution } from './solution.ts';
import type { HarborTask } from './task-folder.ts';

export type EpisodeDeps = {
  readonly task: HarborTask;
  readonly phases: readonly Phase[];
  readonly container: Container;
  readonly tool: ContainerTool;
  /** starts the container of a separate verifier */
  readonly openFresh: (grading: Grading, signal: AbortSignal) => Promise<Container>;
  /** ms for one command of the agent */
  readonly actLimitMs: number;
  readonly close: () => Promise<void>;
};

/** An attempt at a Harbor task. */
export type Episode = OpenEnvironment & {
  /** Carries out the reference solution of all steps. @throws EnvironmentFailure */
  readonly solve: (signal: AbortSignal) => Promise<void>;
};

const bash: FunctionTool = {
  type: 'function',
  function: {
    name: 'bash',
    description: 'Runs a command by bash in the working directory, in a new shell.',
    parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
  },
};
const submit: FunctionTool = {
  type: 'function',
  function: {
    name: 'submit',
    description: 'Says that the task is finished.',
    parameters: { type: 'object', properties: {} },
  },
};

/** ms that an evaluation takes besides the tests: containers, copies */
const EVALUATION_SLACK_MS = 180_000;

/** Stops programs from waiting for keys and from drawing progress bars. */
const PLAIN = { PAGER: 'cat', MANPAGER: 'cat', LESS: '-R', PIP_PROGRESS_BAR: 'off', TQDM_DISABLE: '1' };

export async function openEpisode(deps: EpisodeDeps, signal: AbortSignal): Promise<Episode> {
  const { task, phases, container, actLimitMs } = deps;
  const graded: Graded[] = [];
  let index = 0;
  /** why a step has no rating, so that the steps after it never began */
  let ungraded: unknown;
  const phase = () => phases[index]!;
  const gradeCurrent = async (gradeSignal: AbortSignal): Promise<Rewards> => {
    const { grading } = phase();
    const openFresh = () => deps.openFresh(grading, gradeSignal);
    // a repeated evaluation finds the step graded already
    const current = graded[index] ?? (await grade(container, grading, openFresh, gradeSignal));
    graded[index] = current;
    return current.rewards;
  };
  const shell = async (command: string, shellSignal: AbortSignal): Promise<ShellResult> => {
    const result = await container.run(command, {
      user: phase().user,
      env: PLAIN,
      limitMs: actLimitMs,
      storageMb: container.storageMb,
      signal: shellSignal,
    });
    return shellResultOf(result, { limitMs: actLimitMs, storageMb: container.storageMb });
  };
  /** Rates the step, and begins the next one if there is one. */
  const advance = async (actSignal: AbortSignal): Promise<Observation> => {
    const done = { content: 'Submitted.', isError: false, isDone: true };
    if (index === phases.length - 1) return done;
    const rewards = await gradeCurrent(actSignal).catch((error: unknown) => {
      if (environmentFailureKind(error) !== 'evaluation-failed') throw error;
      ungraded = error;
      return undefined;
    });
    if (rewards === undefined) return done;
    if (!reaches(rewards, phase().least)) return done;
    index++;
    await beginPhase(container, phase(), { isFirst: false, signal: actSignal });
    return { content: phase().instruction, isError: false, isDone: false };
  };
  const act = async ({ name, arguments: given }: Action, actSignal: AbortSignal): Promise<Observation> => {
    if (name === 'submit') return advance(actSignal);
    if (name !== 'bash' || typeof given.command !== 'string')
      return { content: 'Call `bash` with a command, or `submit`.', isError: true, isDone: false };
    const { code, output } = await shell(given.command, actSignal);
    return { content: `exit status: ${code ?? 'killed'}\n${output}`, isError: code !== 0, isDone: false };
  };
  const evaluate = async (evaluateSignal: AbortSignal): Promise<Evaluation> => {
    if (ungraded !== undefined) throw ungraded;
    const last = await gradeCurrent(evaluateSignal);
    const unreached = reaches(last, phase().least) ? phases.length - 1 - index : 0;
    const steps = graded.map(({ rewards }) => rewards);
    const rewards = combineSteps(task.file.multi_step_reward_strategy, steps, unreached);
    const log = graded.at(-1)!.log;
    return { reward: rewards.reward!, detail: { rewards, ...(phases.length > 1 ? { steps } : {}), log } };
  };
  await beginPhase(container, phase(), { isFirst: true, signal });
  const limits = phases.map(({ limitMs }) => limitMs);
  return {
    messages: [{ role: 'user', content: phase().instruction }],
    tools: [bash, submit],
    takesText: false,
    ...(limits.includes(undefined) ? {} : { agentLimitMs: sum(limits.map((limit) => limit!)) }),
    evaluateLimitMs: sum(phases.map(({ grading }) => grading.limitMs)) + EVALUATION_SLACK_MS,
    act,
    shell,
    enter: [deps.tool, 'exec', '--interactive', container.id],
    evaluate,
    close: deps.close,
    solve: async (solveSignal) => {
      for (;;) {
        await runSolution(container, task.file, phase(), solveSignal);
        if ((await advance(solveSignal)).isDone) return;
      }
    },
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** ms for the files and the setup of a step */
const BEGIN_MS = 300_000;

/** Removes what grading an earlier step left behind, and prepares the step. */
async function beginPhase(
  container: Container,
  { workdir, user, healthcheck }: Phase,
  { isFirst, signal }: { readonly isFirst: boolean; readonly signal: AbortSignal },
): Promise<void> {
  const asRoot = { user: '0', limitMs: BEGIN_MS, signal };
  if (!isFirst) await container.run('rm -rf /tests /logs/verifier/*', asRoot);
  if (workdir !== undefined) {
    const { output } = await container.run('pwd', asRoot);
    const place = output.trim();
    await container.copyIn(workdir, place);
    if (existsSync(`${workdir}/setup.sh`)) {
      const setup = await container.run(`bash ${quoted(`${place}/setup.sh`)}`, {
        user,
        limitMs: BEGIN_MS,
        signal,
      });
      if (setup.code !== 0)
        throw environmentFailure('environment-broken', `setup.sh failed: ${setup.output.slice(-300)}`);
    }
  }
  await checkHealth(container.run, healthcheck, signal, user);
}

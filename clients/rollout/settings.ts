import { defined } from '../../shared/lang/defined.ts';
import { UsageError } from '../../shared/runtime/command-errors.ts';
import type { SessionTerms } from '../api-client.ts';
import type { BashAgentSettings } from '../environments/bash-agent.ts';
import { type ContainerSettings, defaultAgentOf } from '../environments/drivers.ts';
import type { TaskSelection } from '../environments/environment.ts';
import type { StepSettings } from './compare-steps.ts';
import type { AdvantageKind } from './group.ts';

/** Flags of `clawloop rollout`, in addition to those of every command. */
export const rolloutFlags = {
  agent: { type: 'string' },
  reward: { type: 'string' },
  data: { type: 'string' },
  n: { type: 'string', short: 'n', default: '4' },
  concurrency: { type: 'string', default: '4' },
  timeout: { type: 'string', default: '300' },
  'reward-timeout': { type: 'string', default: '60' },
  'room-timeout': { type: 'string', default: '600' },
  retries: { type: 'string', default: '1' },
  advantage: { type: 'string', default: 'mean' },
  process: { type: 'string', default: '0' },
  'process-baseline': { type: 'string', default: 'attempt' },
  'process-votes': { type: 'string', default: '3' },
  'process-timeout': { type: 'string', default: '300' },
  anchors: { type: 'string', default: '0' },
  weigh: { type: 'string' },
  seed: { type: 'string', default: '0' },
  env: { type: 'string' },
  'pool-kind': { type: 'string' },
  split: { type: 'string' },
  tasks: { type: 'string' },
  informative: { type: 'string' },
  'max-steps': { type: 'string', default: '30' },
  'act-timeout': { type: 'string', default: '60' },
  'lease-timeout': { type: 'string', default: '120' },
  browser: { type: 'string' },
  form: { type: 'string' },
  'context-tokens': { type: 'string' },
  'container-tool': { type: 'string' },
  environments: { type: 'string', default: '4' },
  network: { type: 'boolean', default: false },
  'timeout-counts': { type: 'boolean', default: false },
  resume: { type: 'boolean', default: false },
  out: { type: 'string' },
  model: { type: 'string' },
  url: { type: 'string' },
  key: { type: 'string' },
} as const;

/** Names of flags without a value. */
type Switch = 'timeout-counts' | 'resume' | 'network';

export type RolloutFlags = {
  readonly [Name in keyof typeof rolloutFlags]?: (Name extends Switch ? boolean : string) | undefined;
};

/** Names of flags with a text. */
type TextFlag = Exclude<keyof RolloutFlags, Switch>;

/** Where the tasks and their environments come from. */
type EnvironmentSettings = {
  /** such as `openenv:http://127.0.0.1:8000` */
  readonly specification: string;
  readonly selection: TaskSelection;
  /** ms for one action */
  readonly actLimitMs: number;
  /** ms after which an environment whose client is silent counts as free */
  readonly leaseTtlMs: number;
  /** what a pool server offers */
  readonly poolKind: string | undefined;
  /** path of the browser for web pages; undefined: the first on PATH */
  readonly browser: string | undefined;
  readonly containers: ContainerSettings;
};

/** Agents that come with ClawLoop, by their names on the command line. */
const BUILT_IN = ['tools', 'bash'] as const;

/** A module of the user, or an agent that comes with ClawLoop. */
export type AgentSettings =
  | { readonly kind: 'module'; readonly path: string }
  | {
      readonly kind: 'tools';
      /** answers of the policy per attempt */
      readonly maxSteps: number;
    }
  | ({ readonly kind: 'bash' } & Omit<BashAgentSettings, 'model'>)
  /** a shell command that runs on this machine for each attempt */
  | { readonly kind: 'program'; readonly command: string };

export type RolloutSettings = {
  readonly agent: AgentSettings;
  /** path of a module; undefined: the environment rates the attempts */
  readonly reward: string | undefined;
  /** path of the tasks; undefined: the environment lists them */
  readonly data: string | undefined;
  readonly environment: EnvironmentSettings | undefined;
  readonly timeoutCounts: boolean;
  /** tasks with different rewards after which no further task begins; undefined: all tasks */
  readonly informative: number | undefined;
  readonly n: number;
  readonly concurrency: number;
  readonly retries: number;
  readonly timeoutMs: number;
  readonly rewardTimeoutMs: number;
  readonly roomTimeoutMs: number;
  readonly seed: number;
  readonly advantage: AdvantageKind;
  /** undefined: steps are not compared */
  readonly steps: (StepSettings & { readonly votesTimeoutMs: number }) | undefined;
  /** what the session of each attempt asks for */
  readonly terms: SessionTerms;
};

export const ROLLOUT_USAGE = '(--agent A --reward R --data TASKS | --env E [--agent A] [--data TASKS])';

/** @throws UsageError naming the flag that is missing or invalid */
export function rolloutSettings(flags: RolloutFlags): RolloutSettings {
  const { reward, data, env, advantage = 'mean' } = flags;
  const agent = flags.agent ?? (env === undefined ? undefined : defaultAgentOf(env));
  if (agent === undefined || (env === undefined && (reward === undefined || data === undefined)))
    throw new UsageError(`usage: rollout ${ROLLOUT_USAGE}`);
  if (env === undefined) refuseWithoutEnvironment(flags, agent);
  if (flags.resume && flags.out === undefined)
    throw new UsageError('--resume needs --out: the results to continue');
  if (advantage !== 'mean' && advantage !== 'grpo')
    throw new UsageError(`--advantage must be mean or grpo, not '${advantage}'`);
  return {
    agent: agentSettings(flags, agent),
    reward,
    data,
    advantage,
    environment: env === undefined ? undefined : environmentSettings(flags, env),
    timeoutCounts: flags['timeout-counts'] ?? false,
    informative: flags.informative === undefined ? undefined : countOf(flags, 'informative', 1),
    n: countOf(flags, 'n', 1),
    concurrency: countOf(flags, 'concurrency', 1),
    retries: countOf(flags, 'retries', 0),
    timeoutMs: msOf(flags, 'timeout'),
    rewardTimeoutMs: msOf(flags, 'reward-timeout'),
    roomTimeoutMs: msOf(flags, 'room-timeout'),
    seed: countOf(flags, 'seed', 0),
    steps: stepSettings(flags),
    terms: termsOf(flags),
  };
}

/** how `--agent` names a program */
const PROGRAM = 'program:';
function stepSettings(flags: RolloutFlags): RolloutSettings['steps'] {
  const [process, anchors] = [weightOf(flags, 'process'), weightOf(flags, 'anchors')];
  const { 'process-baseline': processBaseline = 'attempt' } = flags;
  if (processBaseline !== 'attempt' && processBaseline !== 'index')
    throw new UsageError(`--process-baseline must be attempt or index, not '${processBaseline}'`);
  if (process === 0 && processBaseline === 'index')
    throw new UsageError('--process-baseline index needs --process');
  if (process === 0 && anchors === 0) return undefined;
  const votesTimeoutMs = process === 0 ? 0 : msOf(flags, 'process-timeout');
  return { process, processBaseline, anchors, votesTimeoutMs };
}

function termsOf(flags: RolloutFlags): SessionTerms {
  const { weigh = flags.env === undefined ? 'turn' : 'attempt' } = flags;
  if (weigh !== 'turn' && weigh !== 'attempt')
    throw new UsageError(`--weigh must be turn or attempt, not '${weigh}'`);
  const weight = weightOf(flags, 'process');
  return defined({
    process: weight === 0 ? undefined : { votes: countOf(flags, 'process-votes', 1, 15), weight },
    weigh: weigh === 'attempt' ? weigh : undefined,
  });
}

/** the largest weight of a step's own part; an attempt's outcome weighs 1 */
const MOST_WEIGHT = 10;

function weightOf(flags: RolloutFlags, name: TextFlag): number {
  const text = flags[name] ?? '0';
  const weight = Number(text);
  if (text.trim() === '' || !(weight >= 0 && weight <= MOST_WEIGHT))
    throw new UsageError(`--${name} must be a number from 0 to ${MOST_WEIGHT}, not '${text}'`);
  return weight;
}

function agentSettings(flags: RolloutFlags, agent: string): AgentSettings {
  if (agent.startsWith(PROGRAM)) {
    const command = agent.slice(PROGRAM.length).trim();
    if (command === '') throw new UsageError(`--agent ${PROGRAM} needs a shell command after the colon`);
    return { kind: 'program', command };
  }
  const kind = BUILT_IN.find((name) => name === agent);
  const forBash = (['form', 'context-tokens'] as const).find((name) => flags[name] !== undefined);
  if (kind !== 'bash' && forBash !== undefined) throw new UsageError(`--${forBash} needs --agent bash`);
  if (kind === undefined) return { kind: 'module', path: agent };
  const maxSteps = countOf(flags, 'max-steps', 1);
  if (kind === 'tools') return { kind, maxSteps };
  const { form = 'calls', 'context-tokens': tokens } = flags;
  if (form !== 'calls' && form !== 'backticks')
    throw new UsageError(`--form must be calls or backticks, not '${form}'`);
  const contextTokens = tokens === undefined ? undefined : countOf(flags, 'context-tokens', 1000);
  return { kind, maxSteps, form, contextTokens };
}

function refuseWithoutEnvironment(flags: RolloutFlags, agent: string): void {
  if (BUILT_IN.some((name) => name === agent)) throw new UsageError(`--agent ${agent} needs --env`);
  const flag = (
    [
      ...(['split', 'tasks', 'browser', 'timeout-counts', 'pool-kind'] as const),
      ...(['container-tool', 'network'] as const),
    ] as const
  ).find((name) => flags[name]);
  if (flag !== undefined) throw new UsageError(`--${flag} needs --env`);
}

function environmentSettings(flags: RolloutFlags, specification: string): EnvironmentSettings {
  if (flags.data !== undefined && (flags.split ?? flags.tasks) !== undefined)
    throw new UsageError('--data names the tasks, so --split and --tasks cannot be used with it');
  const poolKind = flags['pool-kind'];
  if (poolKind !== undefined && !specification.startsWith('pool:'))
    throw new UsageError('--pool-kind needs --env pool:http://HOST:PORT');
  return {
    specification,
    selection: { split: flags.split, range: rangeOf(flags.tasks) },
    actLimitMs: msOf(flags, 'act-timeout'),
    leaseTtlMs: msOf(flags, 'lease-timeout'),
    poolKind,
    browser: flags.browser,
    containers: containerSettings(flags),
  };
}

type ContainerFlags = Pick<RolloutFlags, 'container-tool' | 'environments' | 'network'>;

/** Settings of environments in containers, which `clawloop env` takes too. @throws UsageError */
export function containerSettings(flags: ContainerFlags): ContainerSettings {
  const { 'container-tool': tool, network = false } = flags;
  if (tool !== undefined && tool !== 'podman' && tool !== 'docker')
    throw new UsageError(`--container-tool must be podman or docker, not '${tool}'`);
  return { tool, environments: countOf(flags, 'environments', 1), withNetwork: network };
}

/** `20`: the first 20; `20:40`: those from 20 to 39. */
export function rangeOf(text: string | undefined): TaskSelection['range'] {
  if (text === undefined) return undefined;
  const [, first, last] = /^(?:(\d{1,9}):)?(\d{1,9})$/.exec(text) ?? [];
  const range = { from: Number(first ?? 0), to: Number(last) };
  if (last === undefined || range.to <= range.from)
    throw new UsageError(`--tasks must be a number of tasks or a range such as 0:20, not '${text}'`);
  return range;
}

function countOf(
  flags: RolloutFlags,
  name: TextFlag,
  least: number,
  most = Number.POSITIVE_INFINITY,
): number {
  const text = flags[name] ?? '';
  const count = Number(text);
  const range = most === Number.POSITIVE_INFINITY ? `of ${least} or more` : `from ${least} to ${most}`;
  if (!/^\d{1,9}$/.test(text) || count < least || count > most)
    throw new UsageError(`--${name} must be a whole number ${range}, not '${text}'`);
  return count;
}

/** s; the longest delay of a Node timer */
const LONGEST_S = 2_000_000;

function msOf(flags: RolloutFlags, name: TextFlag): number {
  const text = flags[name] ?? '';
  const seconds = Number(text);
  if (text.trim() === '' || !(seconds > 0 && seconds <= LONGEST_S))
    throw new UsageError(`--${name} must be a number of seconds, not '${text}'`);
  return seconds * 1000;
}

import { UsageError } from '../../shared/runtime/command-errors.ts';
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
  seed: { type: 'string', default: '0' },
  out: { type: 'string' },
  model: { type: 'string' },
  url: { type: 'string' },
  key: { type: 'string' },
} as const;

export type RolloutFlags = {
  readonly [Name in keyof typeof rolloutFlags]?: string | undefined;
};

export type RolloutSettings = {
  readonly agent: string;
  readonly reward: string;
  readonly data: string;
  readonly n: number;
  readonly concurrency: number;
  readonly retries: number;
  readonly timeoutMs: number;
  readonly rewardTimeoutMs: number;
  readonly roomTimeoutMs: number;
  readonly seed: number;
  readonly advantage: AdvantageKind;
};

export const ROLLOUT_USAGE = '--agent A --reward R --data TASKS';

/** @throws UsageError naming the flag that is missing or invalid */
export function rolloutSettings(flags: RolloutFlags): RolloutSettings {
  const { agent, reward, data, advantage = 'mean' } = flags;
  if (agent === undefined || reward === undefined || data === undefined)
    throw new UsageError(`usage: rollout ${ROLLOUT_USAGE}`);
  if (advantage !== 'mean' && advantage !== 'grpo')
    throw new UsageError(`--advantage must be mean or grpo, not '${advantage}'`);
  return {
    agent,
    reward,
    data,
    advantage,
    n: countOf(flags, 'n', 1),
    concurrency: countOf(flags, 'concurrency', 1),
    retries: countOf(flags, 'retries', 0),
    timeoutMs: msOf(flags, 'timeout'),
    rewardTimeoutMs: msOf(flags, 'reward-timeout'),
    roomTimeoutMs: msOf(flags, 'room-timeout'),
    seed: countOf(flags, 'seed', 0),
  };
}

function countOf(flags: RolloutFlags, name: keyof RolloutFlags, least: number): number {
  const text = flags[name] ?? '';
  const count = Number(text);
  if (!/^\d{1,9}$/.test(text) || count < least)
    throw new UsageError(`--${name} must be a whole number of ${least} or more, not '${text}'`);
  return count;
}

/** s; the longest delay of a Node timer */
const LONGEST_S = 2_000_000;

function msOf(flags: RolloutFlags, name: keyof RolloutFlags): number {
  const text = flags[name] ?? '';
  const seconds = Number(text);
  if (text.trim() === '' || !(seconds > 0 && seconds <= LONGEST_S))
    throw new UsageError(`--${name} must be a number of seconds, not '${text}'`);
  return seconds * 1000;
}

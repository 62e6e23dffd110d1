import { isObject, parseJson } from '../../../shared/lang/json.ts';

/** Rewards by name; `reward` is the score. */
export type Rewards = Readonly<Record<string, number>>;

type Read = Rewards | { readonly problem: string };

export const isProblem = (read: Read): read is { readonly problem: string } =>
  typeof (read as { readonly problem: unknown }).problem === 'string';

/**
 * The rewards that a verifier wrote: `reward.json`, otherwise `reward.txt`. A file that is missing, empty or
 * unreadable is a problem of the verifier and never a reward of 0.
 *
 * @param json, text contents of the files; undefined: there is no such file
 */
export function readRewards(json: string | undefined, text: string | undefined): Read {
  if (json !== undefined) return fromJson(json);
  if (text !== undefined) return fromText(text);
  return { problem: 'the verifier wrote neither reward.json nor reward.txt' };
}

function fromJson(content: string): Read {
  if (content.trim() === '') return { problem: 'reward.json is empty' };
  const value = parseJson(content);
  const single = numberOf(value);
  if (single !== undefined) return { reward: single };
  if (!isObject(value)) return { problem: 'reward.json is neither an object of numbers nor a number' };
  const rewards: Record<string, number> = {};
  for (const [name, given] of Object.entries(value)) {
    const number = numberOf(given);
    if (number === undefined) return { problem: `reward.json: '${name}' is not a finite number` };
    rewards[name] = number;
  }
  const [only, ...others] = Object.values(rewards);
  if ('reward' in rewards) return rewards;
  if (only !== undefined && others.length === 0) return { ...rewards, reward: only };
  return { problem: "reward.json has no number named 'reward'" };
}

/** A finite number, or a boolean as Python's JSON readers take it. */
function numberOf(value: unknown): number | undefined {
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function fromText(content: string): Read {
  const text = content.trim();
  if (text === '') return { problem: 'reward.txt is empty' };
  const isNumber = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) && Number.isFinite(Number(text));
  return isNumber
    ? { reward: Number(text) }
    : { problem: `reward.txt is not a number: ${text.slice(0, 40)}` };
}

/** The rewards of a task with several steps. */
export function combineSteps(
  strategy: 'mean' | 'final',
  graded: readonly Rewards[],
  /** steps that the attempt used up its budget before, so that they earned nothing */
  unreached: number,
): Rewards {
  if (strategy === 'final') return unreached > 0 ? { reward: 0 } : (graded.at(-1) ?? { reward: 0 });
  const names = new Set(['reward', ...graded.flatMap((rewards) => Object.keys(rewards))]);
  const count = Math.max(1, graded.length + unreached);
  const meanOf = (name: string) => graded.reduce((sum, rewards) => sum + (rewards[name] ?? 0), 0) / count;
  return Object.fromEntries([...names].map((name) => [name, meanOf(name)]));
}

/** Whether a step earned enough for the next one to begin. */
export function reaches(rewards: Rewards, least: number | Rewards | undefined): boolean {
  if (least === undefined) return true;
  const thresholds = typeof least === 'number' ? { reward: least } : least;
  return Object.entries(thresholds).every(
    ([name, threshold]) => (rewards[name] ?? Number.NEGATIVE_INFINITY) >= threshold,
  );
}

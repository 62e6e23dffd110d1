import type { z } from 'zod';
import {
  DeployConfig,
  type DeploySettings,
  type DeployTarget,
  deploySettings,
  deployTargets,
} from '../../../shared/config/deploy.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { flagsOf } from '../config.ts';
import { planUp } from '../up/plan.ts';

export const notRunLive =
  'Tested against recorded answers and a stand-in, and never run against the live services.';

export type DeployPlan = {
  readonly target: DeployTarget;
  readonly settings: DeploySettings;
  /** name of the model at the service */
  readonly model: string;
  /** flags of `clawloop up`; the trainer reads key and project from the same variables */
  readonly flags: readonly string[];
};

const ownFlags = flagsOf(DeployConfig as unknown as z.ZodObject);

/**
 * Splits the words of `clawloop deploy TARGET`: its own flags decide about training, all others go to `up`.
 *
 * @throws UsageError, ConfigError
 */
export function planDeploy(argv: readonly string[]): DeployPlan {
  const [target, ...words] = argv;
  if (!deployTargets.some((known) => known === target))
    throw new UsageError(`clawloop deploy takes one of: ${deployTargets.join(', ')}; not '${target ?? ''}'`);
  const { own, rest } = splitWords(words);
  const { common } = planUp(rest);
  const settings = deploySettings(target as DeployTarget, own);
  const model = settings.trainingModel ?? common.model;
  const { trainingUrl, trainingBudget, method } = settings;
  const optional = (flag: string, value: string | number | undefined) =>
    value === undefined ? [] : [flag, String(value)];
  return {
    target: target as DeployTarget,
    settings,
    model,
    flags: [
      ...['--training-engine', 'tinker'],
      ...['--training-dialect', target as DeployTarget],
      ...['--training-url', trainingUrl],
      ...['--training-model', model],
      ...optional('--training-budget', trainingBudget),
      ...['--collector-method', method],
      ...rest,
    ],
  };
}

function splitWords(words: readonly string[]) {
  let isOwn = false;
  const own: string[] = [];
  const rest: string[] = [];
  for (const word of words) {
    if (word.startsWith('--')) isOwn = ownFlags.has(word.split('=')[0]!);
    (isOwn ? own : rest).push(word);
  }
  return { own, rest };
}

/** The command that does the same by hand. */
export const commandOf = ({ flags }: DeployPlan): string =>
  ['npx clawloop up', ...flags.map(quoted)].join(' ');

const quoted = (word: string): string =>
  /^[\w./:@=,-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

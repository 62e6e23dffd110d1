import { CheckpointsConfig } from '../../../shared/config/checkpoints.ts';
import { CommonConfig } from '../../../shared/config/common.ts';
import { QueueConfig } from '../../../shared/config/queue.ts';
import { envNameOf, flagNameOf, isSecretSetting } from '../../../shared/config/settings.ts';
import { TrainingServerConfig } from '../../../shared/config/training-server.ts';

export type Hidden = {
  readonly flags: readonly string[];
  /** environment variables that replace the removed flags */
  readonly secrets: Readonly<Record<string, string>>;
};

const shared: ReadonlySet<string> = new Set(
  [CommonConfig, QueueConfig, TrainingServerConfig, CheckpointsConfig]
    .flatMap(({ shape }) => Object.keys(shape))
    .map(flagNameOf),
);

/** Moves secrets from a service's command line, which every user can read, to its environment. */
export function hideSecrets(service: string, flags: readonly string[]): Hidden {
  const visible: string[] = [];
  const secrets: Record<string, string> = {};
  for (let at = 0; at < flags.length; at++) {
    const [flag, value] = [flags[at]!, flags[at + 1]];
    if (!isSecretSetting(settingOf(flag)) || value === undefined || value.startsWith('--'))
      visible.push(flag);
    else {
      secrets[envNameOf(settingOf(flag), shared.has(flag) ? undefined : service)] = value;
      at += 1;
    }
  }
  return { flags: visible, secrets };
}

/** `--api-key` is `apiKey`. */
const settingOf = (flag: string): string =>
  flag.slice(2).replace(/-(\w)/g, (_, initial: string) => initial.toUpperCase());

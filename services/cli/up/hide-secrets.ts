import { CommonConfig } from '../../../shared/service/config.ts';
import { QueueConfig } from '../../../shared/service/queue-config.ts';
import { envNameOf, flagNameOf, isSecretSetting } from '../../../shared/service/settings.ts';

export type Hidden = {
  readonly flags: readonly string[];
  /** environment variables in place of the flags that are gone */
  readonly secrets: Readonly<Record<string, string>>;
};

const shared: ReadonlySet<string> = new Set(
  [...Object.keys(CommonConfig.shape), ...Object.keys(QueueConfig.shape)].map(flagNameOf),
);

/** Takes secrets off a service's command line, which every user of the machine can read, into its environment. */
export function hideSecrets(service: string, flags: readonly string[]): Hidden {
  const shown: string[] = [];
  const secrets: Record<string, string> = {};
  for (let at = 0; at < flags.length; at++) {
    const [flag, value] = [flags[at]!, flags[at + 1]];
    if (!isSecretSetting(settingOf(flag)) || value === undefined || value.startsWith('--')) shown.push(flag);
    else {
      secrets[envNameOf(settingOf(flag), shared.has(flag) ? undefined : service)] = value;
      at += 1;
    }
  }
  return { flags: shown, secrets };
}

/** `--api-key` is `apiKey`. */
const settingOf = (flag: string): string =>
  flag.slice(2).replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

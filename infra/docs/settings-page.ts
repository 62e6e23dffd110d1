import type { z } from 'zod';
import { CollectorConfig } from '../../shared/config/collector.ts';
import { CommonConfig, describeService } from '../../shared/config/common.ts';
import { ConsoleConfig } from '../../shared/config/console.ts';
import { JudgeConfig } from '../../shared/config/judge.ts';
import { ServingConfig } from '../../shared/config/serving.ts';
import type { Setting } from '../../shared/config/settings.ts';
import { TrainerConfig } from '../../shared/config/trainer.ts';
import { UpConfig } from '../../shared/config/up.ts';

const services: Readonly<Record<string, z.ZodObject>> = {
  serving: ServingConfig as unknown as z.ZodObject,
  collector: CollectorConfig as unknown as z.ZodObject,
  judge: JudgeConfig as unknown as z.ZodObject,
  trainer: TrainerConfig as unknown as z.ZodObject,
  console: ConsoleConfig as unknown as z.ZodObject,
};

/** docs/operate/configuration.md: every setting of every service, from the schemas that the services parse. */
export function settingsPage(): string {
  const common = describeService('all', CommonConfig as unknown as z.ZodObject);
  const shared = new Set(common.map(({ name }) => name));
  const own = Object.entries(services).map(
    ([name, schema]) =>
      `## ${name}\n\nUnder \`clawloop up\`: \`--${name}-...\`.\n\n` +
      table(describeService(name, schema).filter((setting) => !shared.has(setting.name))),
  );
  const up = `## clawloop up\n\nOf the supervisor itself.\n\n${table(describeService('up', UpConfig as unknown as z.ZodObject))}`;
  return `${head}\n## All services\n\n${table(common)}\n${own.join('\n')}\n${up}`;
}

const head = `# Configuration

Generated from the services' schemas by \`npm run docs\`.

## How to set

A flag overrides an environment variable, which overrides the default. Each service prints its settings at start, with their sources.

| you run | write |
|---|---|
| one service | \`clawloop judge --votes 5\` |
| all services (\`npm start -- ...\`, \`clawloop up\`) | \`--judge-votes 5\`: the service's name before the flag |
| either | \`CLAWLOOP_JUDGE_VOTES=5\` |

Under \`clawloop up\` these flags have no prefix: those of all services, \`--port\`, \`--host\`, \`--context\`, \`--system-budget\`, \`--api-key\` and \`--api-key-file\` of serving,
those of the queue (\`--queue\`, \`--redis-url\`, ...), of a training server (\`--training-...\`) and of a bucket (\`--checkpoints\`, \`--s3-...\`), each for the services that need them, and those of [\`up\` itself](#clawloop-up). Every command takes
\`--data-folder\`, \`--adapters\`, \`--log\`, \`--checkpoints\` and the \`--kafka-...\` and \`--s3-...\` flags.

## Exit codes

A service waits for an unreachable Kafka or Redis, and logs it. It exits with code 2 if a restart cannot help: unknown flag, wrong password, untrusted certificate,
topics or a log with another partition count or a newer version, missing or broken model or backend, port in use, folder not writable. \`clawloop up\` then stops
everything and says why. After any other exit it restarts the service.
`;

const table = (settings: readonly Setting[]) =>
  `| flag | variable | default | meaning |\n|---|---|---|---|\n${settings.map(row).join('\n')}\n`;

const row = ({ flag, env, default: value, about }: Setting) =>
  `| \`${flag}\` | \`${env}\` | ${value === undefined ? '' : `\`${JSON.stringify(value)}\``} | ${about.replaceAll('|', '\\|')} |`;

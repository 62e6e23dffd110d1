import type { z } from 'zod';
import { CollectorConfig } from '../../services/collector/config.ts';
import { JudgeConfig } from '../../services/judge/config.ts';
import { ServingConfig } from '../../services/serving/config.ts';
import { TrainerConfig } from '../../services/trainer/config.ts';
import { CommonConfig, describeService } from '../../shared/service/config.ts';
import type { Setting } from '../../shared/service/settings.ts';

const services: Readonly<Record<string, z.ZodObject>> = {
  serving: ServingConfig as unknown as z.ZodObject,
  collector: CollectorConfig as unknown as z.ZodObject,
  judge: JudgeConfig as unknown as z.ZodObject,
  trainer: TrainerConfig as unknown as z.ZodObject,
};

/**
 * docs/configuration.md: every setting of every service, out of the schemas that the services themselves
 * parse.
 */
export function settingsPage(): string {
  const common = describeService('all', CommonConfig as unknown as z.ZodObject);
  const shared = new Set(common.map(({ name }) => name));
  const own = Object.entries(services).map(
    ([name, schema]) =>
      `## ${name}\n\nUnder \`clawloop up\`: \`--${name}-...\`.\n\n` +
      table(describeService(name, schema).filter((setting) => !shared.has(setting.name))),
  );
  return `${head}\n## All services\n\n${table(common)}\n${own.join('\n')}`;
}

const head = `# Configuration

Made from the services' schemas by \`npm run docs\`. A flag outranks an environment variable, which outranks the default. Every service prints its settings
at start, each with where it came from.

Under \`clawloop up\` (\`npm start -- ...\`) the flags of all services stand as they are; \`--port\`, \`--host\`, \`--context\` and \`--api-key\` are serving's; every
other flag has its service's name before it: the judge's \`--votes 5\` is \`--judge-votes 5\`. Those of a queue (\`--queue\`, \`--redis-url\`, ...) go to judge and trainer.
Every command takes \`--data-folder\`, \`--adapters\`, \`--log\` and the \`--kafka-...\` flags, as the services do. Variables are the same everywhere.

A service waits for a Kafka or a Redis that does not answer, and says so. It ends with exit code 2 where starting it again would change nothing: a flag that it does
not know, a wrong password, a certificate that is not trusted, topics or a log of other partitions or of a newer version, a model or a backend that is not there or is broken, a
port that is taken, a folder that cannot be written to. \`clawloop up\` then stops everything and says why; after any other end it starts the service again.
`;

const table = (settings: readonly Setting[]) =>
  `| flag | variable | default | meaning |\n|---|---|---|---|\n${settings.map(row).join('\n')}\n`;

const row = ({ flag, env, default: value, about }: Setting) =>
  `| \`${flag}\` | \`${env}\` | ${value === undefined ? '' : `\`${JSON.stringify(value)}\``} | ${about.replaceAll('|', '\\|')} |`;

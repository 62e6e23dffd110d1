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
other flag has its service's name before it: the judge's \`--votes 5\` is \`--judge-votes 5\`. Variables are the same everywhere.
`;

const table = (settings: readonly Setting[]) =>
  `| flag | variable | default | meaning |\n|---|---|---|---|\n${settings.map(row).join('\n')}\n`;

const row = ({ flag, env, default: value, about }: Setting) =>
  `| \`${flag}\` | \`${env}\` | ${value === undefined ? '' : `\`${JSON.stringify(value)}\``} | ${about.replaceAll('|', '\\|')} |`;

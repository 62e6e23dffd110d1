import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { z } from 'zod';
import { childEnvironment } from '../../shared/config/child-environment.ts';
import { CliConfig } from '../../shared/config/cli.ts';
import { describeService } from '../../shared/config/common.ts';
import type { ConsoleConfig } from '../../shared/config/console.ts';
import { lowerPriority } from '../../shared/runtime/lower-priority.ts';

const cli = fileURLToPath(new URL('../cli/main.ts', import.meta.url));
const settings = describeService('cli', CliConfig as unknown as z.ZodObject);

/**
 * Runs a command of the cli on the console's log, below the services. The settings go through its
 * environment, where no other user sees a password.
 */
export function startCli(argv: readonly string[], config: ConsoleConfig): ChildProcess {
  const values = config as unknown as Readonly<Record<string, unknown>>;
  const environment = Object.fromEntries(
    settings.flatMap(({ name, env }) => {
      const value = name === 'adapters' ? undefined : values[name];
      return value === undefined ? [] : [[env, Array.isArray(value) ? value.join(',') : String(value)]];
    }),
  );
  const child = spawn(process.execPath, [...process.execArgv, cli, ...argv], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: childEnvironment(environment),
  });
  if (child.pid !== undefined) lowerPriority(child.pid);
  return child;
}

import { type ChildProcess, spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { z } from 'zod';
import { CliConfig } from '../../shared/config/cli.ts';
import { describeService } from '../../shared/config/common.ts';
import type { ConsoleConfig } from '../../shared/config/console.ts';

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
    env: { ...process.env, ...environment },
  });
  lowerPriority(child.pid);
  return child;
}

/** Chats come first: this process and its children get the processor when nobody else wants it. */
export function lowerPriority(pid: number | undefined = 0): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // a system that forbids it; the console works all the same
  }
}

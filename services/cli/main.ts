import { HubUnreachable } from '../../shared/hub/errors.ts';
import { isLogError } from '../../shared/log/errors.ts';
import { ConfigError } from '../../shared/service/config.ts';
import { keepFilesPrivate } from '../../shared/service/private-folder.ts';
import { isRefusal, REFUSED_EXIT_CODE } from '../../shared/service/refusal.ts';
import { guardTerminal, visible } from '../../shared/service/terminal.ts';
import { NotNow, UsageError } from './command.ts';
import { commands } from './commands.ts';
import { helpOf, helpOfAll, isHelp } from './help.ts';

async function main(argv: readonly string[]): Promise<number> {
  const [name = 'help', ...rest] = argv;
  if (name === 'help' || isHelp(name)) {
    process.stdout.write(helpOfAll(commands));
    return 0;
  }
  const command = commands.find((one) => one.name === name);
  if (command === undefined) throw new UsageError(`no command '${name}'; see clawloop help`);
  // A reader that closed the pipe (`| head`) has what it wants.
  process.stdout.on('error', () => command.outlivesReader || process.exit(0));
  if (command.helps !== true && rest.some(isHelp)) {
    process.stdout.write(helpOf(command));
    return 0;
  }
  try {
    return await command.run(rest);
  } catch (error) {
    if (error instanceof UsageError || error instanceof ConfigError)
      throw new UsageError(`${error.message}\nsee clawloop ${name} --help`);
    throw error;
  }
}

/**
 * For what a person can mend by another command line, other settings or a second try; undefined: a fault of
 * ours, with its stack.
 */
function exitCodeOf(error: unknown): number | undefined {
  if (error instanceof UsageError || isRefusal(error)) return REFUSED_EXIT_CODE;
  const passes = error instanceof NotNow || error instanceof HubUnreachable;
  return passes || isLogError(error, 'LogUnavailable') ? 1 : undefined;
}

/** Node prints the stack of what is thrown past every guard. */
function asShown(error: unknown): unknown {
  if (error instanceof Error && error.stack !== undefined) error.stack = visible(error.stack);
  return error;
}

keepFilesPrivate();
for (const stream of [process.stdout, process.stderr]) guardTerminal(stream);
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const code = exitCodeOf(error);
  if (code === undefined) throw asShown(error);
  process.stderr.write(`clawloop: ${(error as Error).message}\n`);
  process.exitCode = code;
}

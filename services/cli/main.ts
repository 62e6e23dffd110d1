import packageFile from '../../package.json' with { type: 'json' };
import { ConfigError } from '../../shared/config/common.ts';
import { HubUnreachable } from '../../shared/hub/errors.ts';
import { isLogError } from '../../shared/log/errors.ts';
import { isStoreUnavailable } from '../../shared/policy/checkpoints/store-unavailable.ts';
import { NotNow, UsageError } from '../../shared/runtime/command-errors.ts';
import { keepFilesPrivate } from '../../shared/runtime/private-folder.ts';
import { isRefusal, REFUSED_EXIT_CODE } from '../../shared/runtime/refusal.ts';
import { guardTerminal, visible } from '../../shared/runtime/terminal.ts';
import { commands } from './commands.ts';
import { helpOf, helpOfAll, isHelp } from './help.ts';

async function main(argv: readonly string[]): Promise<number> {
  const [name = 'help', ...rest] = argv;
  const named = (word: string | undefined) => commands.find((candidate) => candidate.name === word);
  if (name === 'help' || isHelp(name)) {
    const about = named(rest[0]);
    if (about?.helps === true) return about.run(['--help']);
    process.stdout.write(about === undefined ? helpOfAll(commands) : helpOf(about));
    return 0;
  }
  if (name === '--version' || name === '-v') {
    process.stdout.write(`${packageFile.version}\n`);
    return 0;
  }
  const command = named(name);
  if (command === undefined) throw new UsageError(`unknown command '${name}'; see clawloop help`);
  // the reader closed the pipe (`| head`): nothing left to do
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

/** For errors that the user can fix or retry; undefined: a bug, printed with its stack. */
function exitCodeOf(error: unknown): number | undefined {
  if (error instanceof UsageError || isRefusal(error)) return REFUSED_EXIT_CODE;
  const isTemporary = error instanceof NotNow || error instanceof HubUnreachable || isStoreUnavailable(error);
  return isTemporary || isLogError(error, 'LogUnavailable') ? 1 : undefined;
}

/** Node prints the stack of an uncaught error: make its control characters visible. */
function withVisibleStack(error: unknown): unknown {
  if (error instanceof Error && error.stack !== undefined) error.stack = visible(error.stack);
  return error;
}

keepFilesPrivate();
for (const stream of [process.stdout, process.stderr]) guardTerminal(stream);
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const code = exitCodeOf(error);
  if (code === undefined) throw withVisibleStack(error);
  process.stderr.write(`clawloop: ${(error as Error).message}\n`);
  process.exitCode = code;
}

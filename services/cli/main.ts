import { isLogError } from '../../shared/log/errors.ts';
import { isRefusal, REFUSED_EXIT_CODE } from '../../shared/service/refusal.ts';
import { type Command, UsageError } from './command.ts';
import { audit } from './commands/audit.ts';
import { doctor } from './commands/doctor.ts';
import { feedback } from './commands/feedback.ts';
import { keys } from './commands/keys.ts';
import { learning } from './commands/learning.ts';
import { policy } from './commands/policy.ts';
import { replay } from './commands/replay.ts';
import { services } from './commands/services.ts';
import { sessions } from './commands/sessions.ts';
import { topics } from './commands/topics.ts';
import { turns } from './commands/turns.ts';
import { up } from './commands/up.ts';

const commands: readonly Command[] = [
  up,
  ...services,
  topics,
  sessions,
  turns,
  policy,
  learning,
  feedback,
  keys,
  audit,
  replay,
  doctor,
];

function help(): string {
  const rows = commands.map(({ name, usage, about }) => `  ${`${name} ${usage}`.padEnd(46)} ${about}`);
  return `clawloop COMMAND [options]\n\n${rows.join('\n')}\n\nAll take --data-folder (CLAWLOOP_DATA_FOLDER, default .clawloop).\n`;
}

async function main(argv: readonly string[]): Promise<number> {
  const [name = 'help', ...rest] = argv;
  if (name === 'help' || name === '--help' || name === '-h') {
    process.stdout.write(help());
    return 0;
  }
  const command = commands.find((one) => one.name === name);
  if (command === undefined) throw new UsageError(`no command '${name}'; see clawloop help`);
  // A reader that closed the pipe (`| head`) has what it wants.
  process.stdout.on('error', () => command.outlivesReader || process.exit(0));
  return command.run(rest);
}

/**
 * For what a person can mend by another command line, other settings or a second try; undefined: a fault of
 * ours, with its stack.
 */
function exitCodeOf(error: unknown): number | undefined {
  if (error instanceof UsageError || isRefusal(error)) return REFUSED_EXIT_CODE;
  return isLogError(error, 'LogUnavailable') ? 1 : undefined;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const code = exitCodeOf(error);
  if (code === undefined) throw error;
  process.stderr.write(`clawloop: ${(error as Error).message}\n`);
  process.exitCode = code;
}

import { type ParseArgsConfig, parseArgs } from 'node:util';
import type { z } from 'zod';
import { describeService, firstSentence, loadConfig, spellSwitches } from '../../shared/service/config.ts';
import { UsageError } from './command.ts';
import { CliConfig } from './config.ts';

type Options = NonNullable<ParseArgsConfig['options']>;

/** The flags that say where the data and the log are: the same as those of the services. */
const shared = describeService('cli', CliConfig as unknown as z.ZodObject);

/**
 * Flags and words of a command; `settings` as every command takes them. @throws UsageError, ConfigError
 */
export function readOptions<const Given extends Options>(argv: readonly string[], options: Given) {
  const flags = shared.map(({ flag }) => flag.slice(2));
  const strings: Options = Object.fromEntries(flags.map((name) => [name, { type: 'string' }]));
  const parsed = parseOrExplain(spellSwitches(shared, argv), { ...strings, ...options });
  const values = parsed.values as Readonly<Record<string, unknown>>;
  const given = flags.flatMap((name) =>
    typeof values[name] === 'string' ? [`--${name}=${values[name]}`] : [],
  );
  const settings = loadConfig('cli', CliConfig, given).values;
  return { values: parsed.values as ValuesOf<Given>, words: parsed.positionals, settings };
}

type ValuesOf<Given extends Options> = ReturnType<
  typeof parseArgs<{ args: string[]; options: Given; strict: true; allowPositionals: true }>
>['values'];

function parseOrExplain(argv: readonly string[], options: Options) {
  try {
    return parseArgs({ args: [...argv], options, strict: true, allowPositionals: true });
  } catch (error) {
    throw new UsageError(firstSentence((error as Error).message));
  }
}

/**
 * The action of a command and what follows it: `turns --why` is `turns list --why`, where `fallback` is list.
 */
export function splitAction(argv: readonly string[], fallback: string) {
  const [first, ...rest] = argv;
  return first === undefined || first.startsWith('-')
    ? { action: fallback, rest: argv }
    : { action: first, rest };
}

/** A whole number typed by a person. @throws UsageError */
export function wholeNumber(text: string, what: string): number {
  if (!/^v?\d+$/.test(text)) throw new UsageError(`${what} must be a whole number, not '${text}'`);
  return Number(text.replace(/^v/, ''));
}

import { type ParseArgsConfig, parseArgs } from 'node:util';
import type { z } from 'zod';
import { CliConfig } from '../../shared/config/cli.ts';
import { describeService, firstSentence, loadConfig, spellSwitches } from '../../shared/config/common.ts';
import { UsageError } from '../../shared/runtime/command-errors.ts';

type Options = NonNullable<ParseArgsConfig['options']>;

/** The flags for the data folder and the log, the same as those of the services. */
const shared = describeService('cli', CliConfig as unknown as z.ZodObject);

/** For a command that checks its words itself. */
export const ANY_WORDS = Number.POSITIVE_INFINITY;

/**
 * Flags and words of a command; `settings` are those that every command takes.
 *
 * @param maxWords that the command takes; a further word is a mistake that must not pass unnoticed
 * @throws UsageError, ConfigError
 */
export function readOptions<const Given extends Options>(
  argv: readonly string[],
  options: Given,
  maxWords = 0,
) {
  const flags = shared.map(({ flag }) => flag.slice(2));
  const strings: Options = Object.fromEntries(flags.map((name) => [name, { type: 'string' }]));
  const parsed = parseOrExplain(spellSwitches(shared, argv), { ...strings, ...options });
  const values = parsed.values as Readonly<Record<string, unknown>>;
  const given = flags.flatMap((name) =>
    typeof values[name] === 'string' ? [`--${name}=${values[name]}`] : [],
  );
  const settings = loadConfig('cli', CliConfig, given).values;
  const words = parsed.positionals;
  if (words.length > maxWords) throw new UsageError(`unexpected argument '${words[maxWords]}'`);
  return { values: parsed.values as ValuesOf<Given>, words, settings };
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

/** Flags of more settings that a command takes. */
export const optionsOf = (schema: z.ZodObject): Options =>
  Object.fromEntries(describeService('cli', schema).map(({ flag }) => [flag.slice(2), { type: 'string' }]));

/** The values of more settings, from the parsed flags and the environment. @throws ConfigError */
export function moreSettings<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  values: Readonly<Record<string, unknown>>,
): z.output<z.ZodObject<Shape>> {
  const given = Object.keys(optionsOf(schema as unknown as z.ZodObject)).flatMap((name) =>
    typeof values[name] === 'string' ? [`--${name}=${values[name]}`] : [],
  );
  return loadConfig('cli', schema, given).values;
}

/** The action of a command and its arguments. With the fallback `list`, `turns --why` is `turns list --why`. */
export function splitAction(argv: readonly string[], fallback: string) {
  const [first, ...rest] = argv;
  return first === undefined || first.startsWith('-')
    ? { action: fallback, rest: argv }
    : { action: first, rest };
}

/** A whole number from the command line. @throws UsageError */
export function wholeNumber(text: string, name: string): number {
  if (text === '') throw new UsageError(`give ${name}, a whole number`);
  if (!/^v?\d+$/.test(text)) throw new UsageError(`${name} must be a whole number, not '${text}'`);
  return Number(text.replace(/^v/, ''));
}

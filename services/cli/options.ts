import { type ParseArgsConfig, parseArgs } from 'node:util';
import { loadConfig } from '../../shared/service/config.ts';
import { UsageError } from './command.ts';
import { CliConfig } from './config.ts';

type Options = NonNullable<ParseArgsConfig['options']>;

/**
 * Flags and words of a command; `dataFolder` and `adapter` as every command takes them. @throws UsageError
 */
export function readOptions<const Given extends Options>(argv: readonly string[], options: Given) {
  const all = {
    ...options,
    'data-folder': { type: 'string' },
    adapter: { type: 'string' },
  } as const satisfies Options;
  const parsed = parseOrExplain(argv, all);
  const shared = ['data-folder', 'adapter'].flatMap((name) => {
    const value = (parsed.values as Readonly<Record<string, unknown>>)[name];
    return typeof value === 'string' ? [`--${name}`, value] : [];
  });
  const { values: common } = loadConfig('cli', CliConfig, shared);
  return { values: parsed.values, words: parsed.positionals, ...common };
}

function parseOrExplain<const Given extends Options>(argv: readonly string[], options: Given) {
  try {
    return parseArgs({ args: [...argv], options, strict: true, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
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

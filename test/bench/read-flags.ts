import { type ParseArgsOptionDescriptor, parseArgs } from 'node:util';

type Options = Readonly<Record<string, ParseArgsOptionDescriptor>>;
type Config<Flags extends Options> = { readonly options: Flags; readonly allowPositionals?: true };
type ValueOf<Flag> = Flag extends { readonly type: 'boolean' } ? boolean : string;
type Parsed<Flags extends Options> = {
  readonly values: {
    readonly [Name in keyof Flags]: Flags[Name] extends { readonly default: string | boolean }
      ? ValueOf<Flags[Name]>
      : ValueOf<Flags[Name]> | undefined;
  };
  readonly positionals: readonly string[];
};

type FlagsRead<Flags extends Options> =
  | { readonly kind: 'read'; readonly parsed: Parsed<Flags> }
  /** the text to print, and the exit code */
  | { readonly kind: 'ends'; readonly text: string; readonly code: 0 | 2 };

/**
 * Parses the flags of a script. `--help` gives its usage, a wrong flag the reason and the usage.
 *
 * @param usage the command, and one line about it
 */
export function parseFlags<const Flags extends Options>(
  argv: readonly string[],
  usage: string,
  config: Config<Flags>,
): FlagsRead<Flags> {
  const help = `${usage}\n\n${listed(config.options)}`;
  if (argv.includes('--help') || argv.includes('-h')) return { kind: 'ends', text: help, code: 0 };
  try {
    return { kind: 'read', parsed: parseArgs({ ...config, args: [...argv] }) as unknown as Parsed<Flags> };
  } catch (error) {
    return { kind: 'ends', text: `${(error as Error).message}\n\n${help}`, code: 2 };
  }
}

/** Parses the flags of this process, or prints why it cannot and exits. */
export function readFlags<const Flags extends Options>(usage: string, config: Config<Flags>): Parsed<Flags> {
  const flags = parseFlags(process.argv.slice(2), usage, config);
  if (flags.kind === 'read') return flags.parsed;
  (flags.code === 0 ? console.log : console.error)(flags.text);
  process.exit(flags.code);
}

function listed(options: Options): string {
  const lines = Object.entries(options).map(([name, { type, default: value }]) => [
    `--${name}${type === 'string' ? ' VALUE' : ''}`,
    value === undefined || value === '' || value === false ? '' : `default ${value}`,
  ]);
  const width = Math.max(...lines.map(([flag]) => flag!.length));
  return lines.map(([flag, value]) => `  ${flag!.padEnd(width)}  ${value}`.trimEnd()).join('\n');
}

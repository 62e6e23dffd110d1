/** A subcommand. `run` resolves to the exit code. */
export type Command = {
  readonly name: string;
  /** Arguments as `--help` shows them. */
  readonly usage: string;
  readonly about: string;
  /** Actions and flags with their explanations, for `--help`. */
  readonly details?: readonly (readonly [string, string])[];
  /** The command prints `--help` itself: it runs another program or takes other settings. */
  readonly helps?: true;
  /** Goes on when the reader of its output is gone; other commands end then. */
  readonly outlivesReader?: true;
  readonly run: (argv: readonly string[]) => Promise<number>;
};

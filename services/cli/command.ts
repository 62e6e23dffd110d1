/** One subcommand. `run` resolves to the exit code. */
export type Command = {
  readonly name: string;
  /** Arguments as `--help` shows them. */
  readonly usage: string;
  readonly about: string;
  /** Goes on when whoever read its output is gone; the others have nothing left to do then. */
  readonly outlivesReader?: true;
  readonly run: (argv: readonly string[]) => Promise<number>;
};

/** Thrown for what the person typed; its message is printed without a stack, and the exit code is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** One subcommand. `run` resolves to the exit code. */
export type Command = {
  readonly name: string;
  /** Arguments as `--help` shows them. */
  readonly usage: string;
  readonly about: string;
  /** Its actions and its own flags, and what each does: for `--help`. */
  readonly details?: readonly (readonly [string, string])[];
  /**
   * It answers `--help` itself: a program of ours in a process of its own, or one with settings of its own.
   */
  readonly helps?: true;
  /** Goes on when whoever read its output is gone; the others have nothing left to do then. */
  readonly outlivesReader?: true;
  readonly run: (argv: readonly string[]) => Promise<number>;
};

/** Thrown for what the person typed; its message is printed without a stack, and the exit code is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Thrown for what passes by itself or by a person's hand: no stack is printed, and the exit code is 1. */
export class NotNow extends Error {
  override readonly name = 'NotNow';
}

/** Thrown for a wrong command line; the message is printed without a stack, and the exit code is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Thrown for a temporary problem; the message is printed without a stack, and the exit code is 1. */
export class NotNow extends Error {
  override readonly name = 'NotNow';
}

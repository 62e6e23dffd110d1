/**
 * The checkpoints that a batch needs, or the store for its own, cannot be reached. The batch waits; no attempt
 * is counted, and only an operator can abandon it.
 */
export type StoreUnavailable = Error & { readonly name: 'StoreUnavailable' };

export const storeUnavailable = (message: string, cause?: unknown): StoreUnavailable =>
  Object.assign(new Error(message, cause === undefined ? {} : { cause }), {
    name: 'StoreUnavailable' as const,
  });

export const isStoreUnavailable = (error: unknown): error is StoreUnavailable =>
  error instanceof Error && error.name === 'StoreUnavailable';

/** Whether an error comes from the file system and not from the step. */
export const isStorageError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === 'string';

/**
 * Why a batch waits: the checkpoints that it needs, or the place for its own, cannot be reached. No attempt at
 * the step counts meanwhile, and nothing is given up but on an operator's word.
 */
export type StoreAway = Error & { readonly name: 'StoreAway' };

export const storeAway = (message: string, cause?: unknown): StoreAway =>
  Object.assign(new Error(message, cause === undefined ? {} : { cause }), { name: 'StoreAway' as const });

export const isStoreAway = (error: unknown): error is StoreAway =>
  error instanceof Error && error.name === 'StoreAway';

/** A fault of the file system, and not of the step. */
export const isStorageError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === 'string';

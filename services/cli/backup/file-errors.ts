import { isLogError } from '../../../shared/log/errors.ts';
import { isStoreUnavailable } from '../../../shared/policy/checkpoints/store-unavailable.ts';
import { NotNow } from '../../../shared/runtime/command-errors.ts';
import { passes } from '../../../shared/runtime/make-folder.ts';
import { Refusal } from '../../../shared/runtime/refusal.ts';

/** Runs `work` on a file or folder; an error of the file system then says on which. */
export async function using<Result>(
  verb: 'read' | 'write',
  path: string,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (typeof code !== 'string' || !isOfSystem(error)) throw error;
    const named = new Error(`cannot ${verb} ${path}: ${message}`, { cause: error });
    throw Object.assign(named, { name: 'FileError', code });
  }
}

/** An error of a system call, or of SQLite. */
const isOfSystem = (error: unknown): boolean =>
  'syscall' in (error as object) || (error as NodeJS.ErrnoException).code === 'ERR_SQLITE_ERROR';

/** Also what a full disk is to SQLite, and a file that is larger than the system permits. */
const mayPass = (error: NodeJS.ErrnoException): boolean =>
  passes(error) || ['ERR_SQLITE_ERROR', 'EFBIG'].includes(error.code ?? '');

/** The error to show for an error of the file system, the log or the store, followed by what is left; other errors stay as they are. */
export function explained(error: unknown, left: string): unknown {
  if (isStoreUnavailable(error) || isLogError(error, 'LogUnavailable'))
    return new NotNow(`${error.message}. ${left}`);
  if (!(error instanceof Error) || error.name !== 'FileError') return error;
  const text = `${error.message}. ${left}`;
  return mayPass(error) ? new NotNow(text) : new Refusal(text);
}

/** Why a call failed in a thread: only the kind of error, since its message may quote the conversation. */
export const kindOfError = (error: unknown): string => (error instanceof Error ? error.name : typeof error);

export function threadExited(exitCode: number): Error {
  const code = `its thread ended with code ${exitCode}`;
  return Object.assign(new Error(code), { code });
}

/** Why a thread ended: the error's code, such as out of memory, or its kind. */
export const whyEnded = (cause: Error): string => ('code' in cause ? String(cause.code) : cause.name);

/** Exit code of a process that a restart would not help; its supervisor stops too. */
export const REFUSED_EXIT_CODE = 2;

/** Thrown when the operator must act; `message` says how and is shown without a stack. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/** by name, which is all that survives a transfer between threads */
const names: ReadonlySet<string> = new Set([
  'ConfigError',
  'Refusal',
  'LogMismatch',
  'LogRefused',
  'NewerSchema',
  'OtherRows',
  'NativeUnavailable',
  'UnknownModel',
  'UnsupportedModel',
  'DamagedModel',
  'HubRefused',
  'FOREIGN_CHECKPOINTS',
]);

/** error codes for an address that cannot be listened on */
const addressCodes: ReadonlySet<string> = new Set(['EADDRINUSE', 'EADDRNOTAVAIL', 'EACCES', 'ENOTFOUND']);

/** Whether a restart would not help: wrong settings, a taken port, another log, a missing part. */
export function isRefusal(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { code = '', syscall = '' } = error as NodeJS.ErrnoException;
  return names.has(error.name) || (addressCodes.has(code) && ['listen', 'getaddrinfo'].includes(syscall));
}

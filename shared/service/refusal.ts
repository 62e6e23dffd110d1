/**
 * Exit code of a process that would end the same way however often it is started: its supervisor stops too.
 */
export const REFUSED_EXIT_CODE = 2;

/** Thrown when only a person can get the service going; `message` says how, and is shown without a stack. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/** By name: what threads hand over keeps nothing else. */
const names: ReadonlySet<string> = new Set([
  'ConfigError',
  'Refusal',
  'LogMismatch',
  'LogRefused',
  'NewerSchema',
  'NativeUnavailable',
  'UnknownModel',
  'UnsupportedModel',
  'DamagedModel',
  'HubRefused',
  'FOREIGN_CHECKPOINTS',
]);

/** What a system says of an address that cannot be listened on. */
const addressCodes: ReadonlySet<string> = new Set(['EADDRINUSE', 'EADDRNOTAVAIL', 'EACCES', 'ENOTFOUND']);

/** Whether starting again would change nothing: wrong settings, a taken port, another log, a missing part. */
export function isRefusal(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { code = '', syscall = '' } = error as NodeJS.ErrnoException;
  return names.has(error.name) || (addressCodes.has(code) && ['listen', 'getaddrinfo'].includes(syscall));
}

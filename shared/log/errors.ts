/**
 * What a log rejects with. Told apart by name, which survives the way between threads.
 *
 *  - LogUnavailable: not durable within `deliveryTimeoutMs`, no space, or closed. What was appended may still
 *    appear: append it again.
 *  - RecordGone: no record at that position, or it was trimmed.
 *  - RecordsLost: a partition holds less than was read of it, or other records at the same offsets.
 *  - BrokenRecord: a record was asked for by position and cannot be parsed.
 *  - NewerSchema: written by a newer version of the project than this one.
 *  - RecordTooLarge: above `maxRecordBytes`: nothing of that append was written; or above what a topic of
 * Kafka
 *    takes: records of other partitions may stand.
 *  - LogRefused: the brokers, or the file system, refuse this client: a wrong password, a missing right.
 *  - LogMismatch: the log is not the one that was asked for (another partition count, another log id, a group
 *    that reads another topic).
 */
export type LogErrorName =
  | 'LogUnavailable'
  | 'RecordGone'
  | 'RecordsLost'
  | 'BrokenRecord'
  | 'NewerSchema'
  | 'RecordTooLarge'
  | 'LogMismatch'
  | 'LogRefused';

export type LogError = Error & { readonly name: LogErrorName };

export function logError(name: LogErrorName, message: string, cause?: unknown): LogError {
  const error = new Error(message, cause === undefined ? {} : { cause });
  return Object.assign(error, { name });
}

export function isLogError(error: unknown, name: LogErrorName): error is LogError {
  return error instanceof Error && error.name === name;
}

/** A group keeps one position and one state per partition: of one topic. */
export const groupOfAnother = (group: string, reads: string, asked: string): LogError =>
  logError('LogMismatch', `the group ${group} reads ${reads}; to read ${asked} give it another name`);

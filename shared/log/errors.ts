/**
 * The errors of a log. The name identifies an error, because it survives the transfer between threads.
 *
 *  - LogUnavailable: not durable within `deliveryTimeoutMs`, no space, or closed. The events may still appear
 *    in the log; append them again.
 *  - RecordGone: there is no record at that position, or it was trimmed.
 *  - RecordsLost: a partition ends before a position that was already read, or has other records there.
 *  - BrokenRecord: the record at the requested position cannot be parsed.
 *  - NewerSchema: written by a newer version of ClawLoop.
 *  - OtherRows: rows of a fold have another version than this program reads.
 *  - RecordTooLarge: above `maxRecordBytes`, and nothing was written; or above the limit of a Kafka topic,
 *    and records of other partitions may have been written.
 *  - LogRefused: the brokers or the file system reject this client (wrong password, missing permission).
 *  - LogMismatch: not the expected log (different partition count or log id, or a group that reads another
 *    topic).
 */
export type LogErrorName =
  | 'LogUnavailable'
  | 'RecordGone'
  | 'RecordsLost'
  | 'BrokenRecord'
  | 'NewerSchema'
  | 'OtherRows'
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

/** A group reads one topic: it keeps one position and one state per partition. */
export const groupOfAnother = (group: string, reads: string, asked: string): LogError =>
  logError('LogMismatch', `the group ${group} reads ${reads}; to read ${asked} give it another name`);

import { doubling, retry } from '../../lang/async.ts';
import { type LogErrorName, logError } from '../errors.ts';

/** The broker's error code, from the innermost kafkajs error that has one; otherwise ''. */
export function errorType(error: unknown): string {
  let type = '';
  for (let at = error; at instanceof Error; at = (at as { cause?: unknown }).cause) {
    const code = (at as { type?: unknown }).type;
    if (typeof code === 'string' && code !== '') type = code;
    else if (at.name === 'KafkaJSOffsetOutOfRange') type = 'OFFSET_OUT_OF_RANGE';
    const original = (at as { originalError?: unknown }).originalError;
    if (type === '' && original instanceof Error) type = errorType(original);
  }
  return type;
}

const coordinatorHint = ' (none is up yet, or the user has no right to the transactional id or the group)';

const tooLarge: ReadonlySet<string> = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']);

/** Errors of the log itself, which are passed on unchanged. */
const logErrors: ReadonlySet<string> = new Set<LogErrorName>([
  ...(['LogUnavailable', 'LogMismatch', 'LogRefused', 'RecordsLost'] as const),
]);

/** Converts an error of a broker call to an error of the log. */
export function unavailable(what: string, error: unknown): Error {
  if (error instanceof Error && logErrors.has(error.name)) return error;
  const type = errorType(error);
  if (tooLarge.has(type)) {
    return logError('RecordTooLarge', `${what}: the broker refuses a record of this size (${type})`, error);
  }
  // kafkajs does not pass on the broker's reason.
  const hint = (error as Error).name === 'KafkaJSGroupCoordinatorNotFound' ? coordinatorHint : '';
  const message = `${(error as Error).message}${hint}`;
  return logError('LogUnavailable', `${what}: ${type === '' ? message : `${type}, ${message}`}`, error);
}

/** Runs a broker call; its failures become LogUnavailable or RecordTooLarge. */
export async function talking<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw unavailable(what, error);
  }
}

/** A coordinator that moves, starts or still ends the previous transaction: temporary, for milliseconds. */
const passing: ReadonlySet<string> = new Set([
  'CONCURRENT_TRANSACTIONS',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'GROUP_LOAD_IN_PROGRESS',
  'NOT_COORDINATOR_FOR_GROUP',
  'COORDINATOR_NOT_AVAILABLE',
  'COORDINATOR_LOAD_IN_PROGRESS',
  'NOT_COORDINATOR',
]);

/** Repeats a call while its coordinator is not ready: kafkajs itself checks for other error names. */
export async function whenCoordinated<Result>(
  work: () => Promise<Result>,
  timeoutMs = 10_000,
): Promise<Result> {
  const deadline = performance.now() + timeoutMs;
  const onFailure = (error: unknown) => {
    if (!passing.has(errorType(error)) || performance.now() > deadline) throw error;
  };
  return retry(work, { waits: doubling(5, 100), onFailure });
}

/** A topic that was just created or deleted, or whose leader moves: the metadata may need a refresh. */
const leaderless: ReadonlySet<string> = new Set([
  'NOT_LEADER_FOR_PARTITION',
  'UNKNOWN_TOPIC_OR_PARTITION',
  'LEADER_NOT_AVAILABLE',
  'REPLICA_NOT_AVAILABLE',
]);

/** Repeats a call while a partition has no known leader; `refresh` reloads the metadata before each retry. */
export async function whenLed<Result>(
  work: () => Promise<Result>,
  refresh: () => Promise<void> = () => Promise.resolve(),
  timeoutMs = 5_000,
): Promise<Result> {
  const deadline = performance.now() + timeoutMs;
  let isFirst = true;
  const refreshed = async () => {
    if (!isFirst) await refresh().catch(() => undefined);
    isFirst = false;
    return work();
  };
  const onFailure = (error: unknown) => {
    if (!leaderless.has(errorType(error)) || performance.now() > deadline) throw error;
  };
  return retry(refreshed, { waits: doubling(10, 200), onFailure });
}

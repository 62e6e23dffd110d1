import { type LogErrorName, logError } from '../errors.ts';

/** The innermost kafkajs error that carries the broker's own word for what is wrong. */
export function errorType(error: unknown): string {
  let type = '';
  for (let at = error; at instanceof Error; at = (at as { cause?: unknown }).cause) {
    const own = (at as { type?: unknown }).type;
    if (typeof own === 'string' && own !== '') type = own;
    else if (at.name === 'KafkaJSOffsetOutOfRange') type = 'OFFSET_OUT_OF_RANGE';
    const original = (at as { originalError?: unknown }).originalError;
    if (type === '' && original instanceof Error) type = errorType(original);
  }
  return type;
}

const coordinatorHint = ' (none is up yet, or the user has no right to the transactional id or the group)';

const tooLarge: ReadonlySet<string> = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']);

/** Errors of the log itself. */
const said: ReadonlySet<string> = new Set<LogErrorName>([
  ...(['LogUnavailable', 'LogMismatch', 'LogRefused', 'RecordsLost'] as const),
]);

/** What went wrong between here and the broker, as the log says it. */
export function unavailable(what: string, error: unknown): Error {
  if (error instanceof Error && said.has(error.name)) return error;
  const type = errorType(error);
  if (tooLarge.has(type)) {
    return logError('RecordTooLarge', `${what}: the broker refuses a record of this size (${type})`, error);
  }
  // kafkajs keeps what the broker said to itself.
  const hint = (error as Error).name === 'KafkaJSGroupCoordinatorNotFound' ? coordinatorHint : '';
  const message = `${(error as Error).message}${hint}`;
  return logError('LogUnavailable', `${what}: ${type === '' ? message : `${type}, ${message}`}`, error);
}

/** Runs what talks to the broker; its failures become LogUnavailable or RecordTooLarge. */
export async function talking<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw unavailable(what, error);
  }
}

/**
 * A coordinator that moves, starts up, or still ends the transaction before: all pass within milliseconds.
 */
const passing: ReadonlySet<string> = new Set([
  'CONCURRENT_TRANSACTIONS',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'GROUP_LOAD_IN_PROGRESS',
  'NOT_COORDINATOR_FOR_GROUP',
  'COORDINATOR_NOT_AVAILABLE',
  'COORDINATOR_LOAD_IN_PROGRESS',
  'NOT_COORDINATOR',
]);

/** Repeats a call while its coordinator is not ready: kafkajs looks for these errors under other names. */
export async function whenCoordinated<Result>(
  work: () => Promise<Result>,
  timeoutMs = 10_000,
): Promise<Result> {
  const deadline = performance.now() + timeoutMs;
  for (let delayMs = 5; ; delayMs = Math.min(2 * delayMs, 100)) {
    try {
      return await work();
    } catch (error) {
      if (!passing.has(errorType(error)) || performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
  }
}

/**
 * A topic that was just created or dropped, or whose leader moves: the next look at the metadata may tell.
 */
const leaderless: ReadonlySet<string> = new Set([
  'NOT_LEADER_FOR_PARTITION',
  'UNKNOWN_TOPIC_OR_PARTITION',
  'LEADER_NOT_AVAILABLE',
  'REPLICA_NOT_AVAILABLE',
]);

/** Repeats a call while a partition has no leader that knows of it; `refresh` looks for one. */
export async function whenLed<Result>(
  work: () => Promise<Result>,
  refresh: () => Promise<void> = () => Promise.resolve(),
  timeoutMs = 5_000,
): Promise<Result> {
  const deadline = performance.now() + timeoutMs;
  for (let delayMs = 10; ; delayMs = Math.min(2 * delayMs, 200)) {
    try {
      return await work();
    } catch (error) {
      if (!leaderless.has(errorType(error)) || performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      await refresh().catch(() => undefined);
    }
  }
}

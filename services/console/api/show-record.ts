import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { isLogError } from '../../../shared/log/errors.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { withoutSecrets } from '../../../shared/secrets/find-secrets.ts';
import type { Place } from '../../../shared/views/place.ts';
import { ConsoleError } from '../errors.ts';
import type { ShownRecord } from './shapes.ts';

/** Items of a list that are shown; token ids and logprobs have thousands. */
const ITEMS = 64;
const CHARACTERS = 20_000;

/** Reads a record for the page: without secrets, and with long lists and texts shortened. */
export async function showRecord(log: Pick<EventLog, 'read'>, place: Place): Promise<ShownRecord> {
  const { topic, partition, offset } = place;
  const event = await log.read(topic, { partition, offset }).catch((error: unknown) => {
    if (isLogError(error, 'RecordGone') || isLogError(error, 'BrokenRecord')) return null;
    if (isLogError(error, 'NewerSchema')) throw ConsoleError.RECORD_NEWER({ reason: error.message });
    if (isLogError(error, 'LogUnavailable')) throw ConsoleError.LOG_UNREADABLE({ retryAfterSeconds: 5 });
    throw error;
  });
  return { place, event: event === null ? null : shown(event) };
}

const shown = ({ id, type, source, time, subject, data }: ClawLoopEvent): ShownRecord['event'] => ({
  id,
  type,
  source,
  time,
  subject,
  data: abridged(data) as Readonly<Record<string, unknown>>,
});

function abridged(value: unknown): unknown {
  if (typeof value === 'string') return text(value);
  if (Array.isArray(value)) return list(value);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, abridged(part)]));
}

function text(value: string): string {
  const safe = withoutSecrets(value);
  return safe.length <= CHARACTERS ? safe : `${safe.slice(0, CHARACTERS)} ... (${safe.length} characters)`;
}

function list(values: readonly unknown[]): readonly unknown[] {
  const isNumbers = values.every((value) => typeof value === 'number');
  if (values.length <= ITEMS || !isNumbers) return values.map(abridged);
  return [...values.slice(0, ITEMS), `... (${values.length} numbers)`];
}

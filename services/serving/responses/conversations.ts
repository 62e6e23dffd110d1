import type { ResponseDeleted } from '../../../shared/events/response-deleted.ts';
import type { EventLog, Heading, Recorded } from '../../../shared/log/event-log.ts';
import { laneOfCompletion } from '../chat/lane.ts';
import { ServingError } from '../errors.ts';
import { REPEATABLE_MS } from '../record/recorded-answers.ts';
import { type ToldResponse, toldByFact } from './told-response.ts';

type Found = ReadonlyMap<string, ToldResponse>;

export type Conversations = {
  readonly remember: (responseId: string, told: ToldResponse) => void;
  /** A response is deleted, here or at another replica: from now on it is not found. */
  readonly forget: (deleted: ResponseDeleted) => void;
  /**
   * Whether an answer that can be asked for again was deleted, as far as the log was read.
   * @throws ServingError RESPONSES_UNREADABLE
   */
  readonly isDeleted: (id: string) => Promise<boolean>;
  /**
   * By id; not in it: no answer of this id was given to this key, or by this adapter where one is named, or it
   * was not stored, or it was deleted.
   * @throws ServingError RESPONSES_UNREADABLE
   */
  readonly find: (responseIds: readonly string[], keyId: string, adapter?: string) => Promise<Found>;
};

type Options = {
  readonly log: Pick<EventLog, 'follow'>;
  /** Waits for the deletions that stand in the log; false: those of before the start are not known yet. */
  readonly heard: () => Promise<boolean>;
  /** answers that are remembered */
  readonly most?: number;
  /** ms that an older one is looked for in the log */
  readonly limitMs?: number;
  /** ms since 1970 */
  readonly now?: () => number;
};

/**
 * The answers that clients name by id. The latest are remembered; those of before a restart, of another
 * replica or of long ago stand in the log.
 */
export function openConversations({
  log,
  heard,
  most = 1_000,
  limitMs = 10_000,
  now = Date.now,
}: Options): Conversations {
  const latest = new Map<string, ToldResponse>();
  /** When, ms since 1970; only as long as an answer can be asked for again, the log has them all. */
  const deleted = new Map<string, number>();
  const remember = (id: string, told: ToldResponse) => {
    latest.delete(id);
    if (!deleted.has(id)) latest.set(id, told);
    if (latest.size > most) latest.delete(latest.keys().next().value!);
  };
  const forget = ({ data: { interactionId }, time }: ResponseDeleted) => {
    latest.delete(interactionId);
    const isOld = (at: number) => now() - at >= REPEATABLE_MS;
    if (!isOld(Date.parse(time))) deleted.set(interactionId, Date.parse(time));
    for (const [id, at] of deleted) {
      if (!isOld(at)) break;
      deleted.delete(id);
    }
  };
  const isDeleted = async (id: string) => {
    if (!id.startsWith('resp_')) return false;
    if (!deleted.has(id) && !(await heard()))
      throw ServingError.RESPONSES_UNREADABLE({ retryAfterSeconds: 5 });
    return deleted.has(id);
  };
  /** One look-up at a time: each reads the log from its beginning. */
  let before: Promise<unknown> = Promise.resolve();
  const known = (ids: readonly string[]) =>
    new Map(ids.flatMap((id) => (latest.has(id) ? [[id, latest.get(id)!] as const] : [])));
  const lookInTurn = async (ids: readonly string[]): Promise<Found> => {
    const late = new AbortController();
    const looked = before.then(async () => {
      const there = known(ids);
      return new Map([
        ...there,
        ...(await look(log, new Set(ids.filter((id) => !there.has(id))), late.signal)),
      ]);
    });
    before = looked.catch(() => {});
    const timer = setTimeout(() => late.abort(), limitMs);
    const tooLate = new Promise<never>((_, reject) => {
      late.signal.addEventListener('abort', () => reject(new Error('the log was not read in time')));
    });
    try {
      return await Promise.race([looked, tooLate]);
    } catch {
      throw ServingError.RESPONSES_UNREADABLE({ retryAfterSeconds: 5 });
    } finally {
      clearTimeout(timer);
    }
  };
  const find: Conversations['find'] = async (asked, keyId, adapter) => {
    const ids = asked.filter((id) => laneOfCompletion(id) !== undefined && !deleted.has(id)); // the others are none of ours
    const there = known(ids);
    const found = there.size === new Set(ids).size ? there : await lookInTurn(ids);
    const isTheirs = (told: ToldResponse) =>
      told.key === keyId && (adapter === undefined || told.adapter === adapter);
    const theirs = [...found].filter(([id, told]) => isTheirs(told) && !deleted.has(id));
    for (const [id, told] of theirs) remember(id, told);
    return new Map(theirs);
  };
  return { remember, forget, isDeleted, find };
}

/** Reads the log to its end: what was told may have been deleted later. Rejects where the signal comes first. */
async function look(
  log: Pick<EventLog, 'follow'>,
  ids: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Found> {
  const found = new Map<string, ToldResponse>();
  const gone = new Set<string>(); // a deletion may overtake its answer, which waits in an outbox
  if (ids.size === 0) return found;
  signal.throwIfAborted();
  const onRecord = ({ event }: Recorded) => {
    if (event.type === 'response.deleted') {
      gone.add(event.data.interactionId);
      found.delete(event.data.interactionId);
    }
    if (event.type !== 'interaction.completed' || !ids.has(event.id) || gone.has(event.id)) return;
    const told = toldByFact(event.data);
    if (told !== undefined) found.set(event.id, told);
  };
  const lanes = new Set([...ids].map(laneOfCompletion));
  const wants = ({ type, subject }: Heading) =>
    lanes.has(subject) && (type === 'interaction.completed' || type === 'response.deleted');
  const stop = new AbortController();
  signal.addEventListener('abort', () => stop.abort());
  const following = log.follow('conversations', {}, onRecord, stop.signal, wants);
  try {
    await Promise.race([following.caughtUp, following.done]);
    signal.throwIfAborted();
    return found;
  } finally {
    stop.abort();
    await following.done.catch(() => {});
  }
}

import type { EventLog, Heading, Recorded } from '../../../shared/log/event-log.ts';
import { laneOfCompletion } from '../chat/lane.ts';
import { ServingError } from '../errors.ts';
import { type ToldResponse, toldByFact } from './told-response.ts';

type Found = ReadonlyMap<string, ToldResponse>;

export type Conversations = {
  readonly remember: (responseId: string, told: ToldResponse) => void;
  /** It is deleted: from now on it is not found. */
  readonly forget: (responseId: string) => void;
  /**
   * By id; not in it: no answer of this id was given to this key, or by this adapter where one is named, or it
   * was not stored, or it was deleted.
   * @throws ServingError RESPONSES_UNREADABLE
   */
  readonly find: (responseIds: readonly string[], keyId: string, adapter?: string) => Promise<Found>;
};

type Options = {
  readonly log: Pick<EventLog, 'follow' | 'ends'>;
  /** Ends the listening for what other replicas delete. */
  readonly signal: AbortSignal;
  /** answers that are remembered */
  readonly most?: number;
  /** ms that an older one is looked for in the log */
  readonly limitMs?: number;
};

/**
 * The answers that clients name by id. The latest are remembered; those of before a restart, of another
 * replica or of long ago stand in the log.
 */
export function openConversations({ log, signal, most = 1_000, limitMs = 10_000 }: Options): Conversations {
  const latest = new Map<string, ToldResponse>();
  /** Since this process began. */
  const deleted = new Set<string>();
  const remember = (id: string, told: ToldResponse) => {
    latest.delete(id);
    if (!deleted.has(id)) latest.set(id, told);
    if (latest.size > most) latest.delete(latest.keys().next().value!);
  };
  const forget = (id: string) => {
    deleted.add(id);
    latest.delete(id);
  };
  void hearDeletions(log, forget, signal).catch(() => {}); // what other replicas delete is then found here still
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
  return { remember, forget, find };
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

/** From now on; each deletion of before is met by whoever looks in the log. */
async function hearDeletions(
  log: Pick<EventLog, 'follow' | 'ends'>,
  forget: (responseId: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const ends = await log.ends('conversations');
  const onRecord = ({ event }: Recorded) => {
    if (event.type === 'response.deleted') forget(event.data.interactionId);
  };
  const wants = ({ type }: Heading) => type === 'response.deleted';
  await log.follow('conversations', { ...ends }, onRecord, signal, wants).done;
}

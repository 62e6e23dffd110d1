import type { ResponseDeleted } from '../../../shared/events/response-deleted.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import type { AnswerIds } from '../chat/answer-ids.ts';
import { ServingError } from '../errors.ts';
import { bytesOf, createFairCache } from '../fair-cache.ts';
import { createInTurn } from '../in-turn.ts';
import { REPEATABLE_MS } from '../record/recorded-answers.ts';
import type { LanePlaces } from './lane-places.ts';
import { type Found, readAll, readPlaces } from './look-up.ts';
import type { ToldResponse } from './told-response.ts';

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
  readonly log: Pick<EventLog, 'follow' | 'read'>;
  readonly ids: Pick<AnswerIds, 'laneOf'>;
  /** Where answers and deletions stand in the log. */
  readonly places: Pick<LanePlaces, 'of' | 'isWhole'>;
  /** Waits until `places` and `forget` have heard of all that stands in the log now; false: they have not. */
  readonly reachEnd: () => Promise<boolean>;
  /** Whether they have heard of all that stood there at the start. */
  readonly isCaughtUp: () => boolean;
  /** of the answers that are remembered */
  readonly mostBytes?: number;
  /** ms that an older one is looked for in the log */
  readonly limitMs?: number;
  /** ms since 1970 */
  readonly now?: () => number;
};

const MIB = 2 ** 20;
/** A larger answer is read from the log each time that it is named. */
const LARGEST_BYTES = MIB;
/** One access key has at most so large a part of the answers that are remembered. */
const PART_OF_KEY = 4;

/**
 * The answers that clients name by id. The latest are remembered; those of before a restart, of another
 * replica or of long ago stand in the log. An id that was given to another key, or to nobody, is known by its
 * signature, and costs no look into the log.
 */
export function openConversations(options: Options): Conversations {
  const { ids, reachEnd, isCaughtUp, mostBytes = 256 * MIB, now = Date.now } = options;
  const latest = createFairCache<ToldResponse>({ bytes: mostBytes, bytesPerOwner: mostBytes / PART_OF_KEY });
  const deletions = rememberDeletions(now);
  const remember = (id: string, told: ToldResponse) => {
    const bytes = bytesOf(told, LARGEST_BYTES);
    if (bytes > LARGEST_BYTES || deletions.has(id)) latest.delete(id);
    else latest.set(id, { owner: told.key, value: told, bytes });
  };
  const known = (wanted: readonly string[]) =>
    new Map(
      wanted.flatMap((id) => {
        const told = latest.get(id);
        return told === undefined ? [] : [[id, told] as const];
      }),
    );
  const lookUp = createLookUps(options, known);
  return {
    remember,
    forget: (deleted) => {
      latest.delete(deleted.data.interactionId);
      deletions.add(deleted);
    },
    isDeleted: async (id) => {
      if (!id.startsWith('resp_')) return false;
      if (!deletions.has(id) && !(await reachEnd()) && !isCaughtUp())
        throw ServingError.RESPONSES_UNREADABLE({ retryAfterSeconds: 5 });
      return deletions.has(id);
    },
    find: async (asked, keyId, adapter) => {
      const isGiven = (id: string) => ids.laneOf(id, keyId) !== undefined && !deletions.has(id);
      const wanted = [...new Set(asked)].filter(isGiven);
      const there = known(wanted);
      const found = there.size === wanted.length ? there : await lookUp(wanted, keyId);
      const isTheirs = (told: ToldResponse) =>
        told.key === keyId && (adapter === undefined || told.adapter === adapter);
      const theirs = [...found].filter(([id, told]) => isTheirs(told) && !deletions.has(id));
      for (const [id, told] of theirs) remember(id, told);
      return new Map(theirs);
    },
  };
}

/** By id; when, ms since 1970. Only as long as an answer can be asked for again: the log has them all. */
function rememberDeletions(now: () => number) {
  const deleted = new Map<string, number>();
  const isOld = (at: number) => now() - at >= REPEATABLE_MS;
  return {
    has: (id: string): boolean => deleted.has(id),
    add: ({ data: { interactionId }, time }: ResponseDeleted): void => {
      if (!isOld(Date.parse(time))) deleted.set(interactionId, Date.parse(time));
      for (const [id, at] of deleted) {
        if (!isOld(at)) break;
        deleted.delete(id);
      }
    },
  };
}

/**
 * Looks answers up in the log. The look-ups of one key come one after the other, and nobody else waits for
 * them.
 *
 * @param known those that are remembered: an earlier look-up may have found what this one wants
 */
function createLookUps(
  { log, ids, places, reachEnd, limitMs = 10_000 }: Options,
  known: (wanted: readonly string[]) => Found,
): (wanted: readonly string[], keyId: string) => Promise<Found> {
  const inTurn = createInTurn();
  const read = async (wanted: readonly string[], keyId: string, signal: AbortSignal): Promise<Found> => {
    if (!(await reachEnd())) throw new Error('the end of the log is not known');
    const found = new Map<string, ToldResponse>();
    const byLane = Map.groupBy(wanted, (id) => ids.laneOf(id, keyId)!);
    for (const [lane, inLane] of byLane)
      for (const [id, told] of await readPlaces(log, places.of(lane), new Set(inLane), signal))
        found.set(id, told);
    const missing = wanted.filter((id) => !found.has(id));
    if (missing.length === 0 || places.isWhole()) return found;
    return new Map([...found, ...(await readAll(log, new Set(missing), signal))]);
  };
  return async (wanted, keyId) => {
    const late = new AbortController();
    const looked = inTurn(keyId, async () => {
      const there = known(wanted);
      const others = wanted.filter((id) => !there.has(id));
      return new Map([...there, ...(await read(others, keyId, late.signal))]);
    });
    looked.catch(() => {}); // who waits may have been told already
    const tooLate = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      late.abort();
      tooLate.reject(new Error('the log was not read in time'));
    }, limitMs);
    try {
      return await Promise.race([looked, tooLate.promise]);
    } catch {
      throw ServingError.RESPONSES_UNREADABLE({ retryAfterSeconds: 5 });
    } finally {
      clearTimeout(timer);
    }
  };
}

import type { ResponseDeleted } from '../../../../shared/events/response-deleted.ts';
import { createInTurn, withDeadline } from '../../../../shared/lang/async.ts';
import type { EventLog } from '../../../../shared/log/event-log.ts';
import { type AnswerIds, completionOf } from '../../answer/answer-ids.ts';
import { bytesOf, createFairCache } from '../../answer/fair-cache.ts';
import { REPEATABLE_MS } from '../../answer/recorded-answers.ts';
import { ServingError } from '../../errors.ts';
import type { LanePlaces } from './lane-places.ts';
import { readAll, readPlaces, type StoredResponses } from './look-up.ts';
import type { StoredResponse } from './stored-response.ts';

export type Conversations = {
  readonly remember: (responseId: string, stored: StoredResponse) => void;
  /** Removes a response that was deleted here or at another replica. */
  readonly forget: (deleted: ResponseDeleted) => void;
  /** To be stored: what `forget` was told, as far as it still matters. */
  readonly deletions: () => DeletionsState;
  /**
   * Whether a replayable answer was deleted, as far as the log has been read.
   * @throws ServingError RESPONSES_UNREADABLE
   */
  readonly isDeleted: (id: string) => Promise<boolean>;
  /**
   * Stored responses by id, without those that belong to another key or (if given) adapter, were not stored, or were
   * deleted.
   * @throws ServingError RESPONSES_UNREADABLE
   */
  readonly find: (
    responseIds: readonly string[],
    keyId: string,
    adapter?: string,
  ) => Promise<StoredResponses>;
};

/** Deleted ids and times, ms since 1970; oldest first. */
type DeletionsState = readonly (readonly [id: string, at: number])[];

type Options = {
  readonly log: Pick<EventLog, 'follow' | 'read'>;
  readonly ids: Pick<AnswerIds, 'laneOf'>;
  /** Log positions of answers and deletions. */
  readonly places: Pick<LanePlaces, 'of' | 'isWhole'>;
  /** Waits until `places` and `forget` have received everything that is in the log now; false: it took too long. */
  readonly reachEnd: () => Promise<boolean>;
  /** Whether they have received everything that was in the log at the start. */
  readonly isCaughtUp: () => boolean;
  /** limit of all cached responses */
  readonly mostBytes?: number;
  /** ms to search the log for an older response */
  readonly limitMs?: number;
  /** ms since 1970 */
  readonly now?: () => number;
  readonly deletions?: DeletionsState | undefined;
};

const MIB = 2 ** 20;
/** A larger response is not cached but read from the log each time. */
const LARGEST_BYTES = MIB;
/** One access key may use at most 1/4 of the cache. */
const PART_OF_KEY = 4;

/**
 * The responses that clients refer to by id. The latest are cached; the others are read from the log. The signature of
 * an id shows which key it belongs to, so ids of other keys cost no read.
 */
export function openConversations(options: Options): Conversations {
  const { ids, reachEnd, isCaughtUp, mostBytes = 256 * MIB, now = Date.now } = options;
  const cache = createFairCache<StoredResponse>({ bytes: mostBytes, bytesPerOwner: mostBytes / PART_OF_KEY });
  const deletions = rememberDeletions(now, options.deletions);
  const remember = (id: string, stored: StoredResponse) => {
    const bytes = bytesOf(stored, LARGEST_BYTES);
    if (bytes > LARGEST_BYTES || deletions.has(id)) cache.delete(id);
    else cache.set(id, { owner: stored.key, value: stored, bytes });
  };
  const cached = (wanted: readonly string[]) =>
    new Map(
      wanted.flatMap((id) => {
        const stored = cache.get(id);
        return stored === undefined ? [] : [[id, stored] as const];
      }),
    );
  const lookUp = createLookUps(options, cached);
  return {
    remember,
    forget: (deleted) => {
      cache.delete(deleted.data.interactionId);
      deletions.add(deleted);
    },
    deletions: deletions.all,
    isDeleted: async (id) => {
      // Only responses can be deleted by their own client, who may then repeat the request at once at another replica.
      if (id.startsWith('resp_') && !deletions.has(id) && !(await reachEnd()) && !isCaughtUp())
        throw ServingError.RESPONSES_UNREADABLE({ retryAfterSeconds: 5 });
      return deletions.has(id);
    },
    find: async (responseIds, keyId, adapter) => {
      const isOwn = (id: string) => ids.laneOf(id, keyId) !== undefined && !deletions.has(id);
      const wanted = [...new Set(responseIds)].filter(isOwn);
      const inCache = cached(wanted);
      const responses = inCache.size === wanted.length ? inCache : await lookUp(wanted, keyId);
      const isAllowed = (stored: StoredResponse) =>
        stored.key === keyId && (adapter === undefined || stored.adapter === adapter);
      const allowed = [...responses].filter(([id, stored]) => isAllowed(stored) && !deletions.has(id));
      for (const [id, stored] of allowed) remember(id, stored);
      return new Map(allowed);
    },
  };
}

/** Deleted ids, for as long as their answers can be replayed. The log has all deletions. */
function rememberDeletions(now: () => number, from: DeletionsState = []) {
  const deleted = new Map<string, number>(from);
  const isOld = (at: number) => now() - at >= REPEATABLE_MS;
  return {
    has: (id: string): boolean => deleted.has(id),
    all: (): DeletionsState => [...deleted],
    add: ({ data: { interactionId }, time }: ResponseDeleted): void => {
      // a repeated request gets all choices of its answer, so one deleted choice counts for all
      if (!isOld(Date.parse(time))) deleted.set(completionOf(interactionId), Date.parse(time));
      for (const [id, at] of deleted) {
        if (!isOld(at)) break;
        deleted.delete(id);
      }
    },
  };
}

/**
 * Looks responses up in the log. The look-ups of one key run one at a time; other keys do not wait for them.
 *
 * @param cached reads the cache: an earlier look-up may already have read the response
 */
function createLookUps(
  { log, ids, places, reachEnd, limitMs = 10_000 }: Options,
  cached: (wanted: readonly string[]) => StoredResponses,
): (wanted: readonly string[], keyId: string) => Promise<StoredResponses> {
  const inTurn = createInTurn();
  const read = async (
    wanted: readonly string[],
    keyId: string,
    signal: AbortSignal,
  ): Promise<StoredResponses> => {
    if (!(await reachEnd())) throw new Error('could not reach the end of the log');
    const responses = new Map<string, StoredResponse>();
    const byLane = Map.groupBy(wanted, (id) => ids.laneOf(id, keyId)!);
    for (const [lane, inLane] of byLane)
      for (const [id, stored] of await readPlaces(log, places.of(lane), new Set(inLane), signal))
        responses.set(id, stored);
    const missing = wanted.filter((id) => !responses.has(id));
    if (missing.length === 0 || places.isWhole()) return responses;
    return new Map([...responses, ...(await readAll(log, new Set(missing), signal))]);
  };
  return async (wanted, keyId) => {
    const timeout = new AbortController();
    const unreadable = () => {
      throw ServingError.RESPONSES_UNREADABLE({ retryAfterSeconds: 5 });
    };
    const lookUp = inTurn(keyId, async () => {
      const inCache = cached(wanted);
      const uncached = wanted.filter((id) => !inCache.has(id));
      return new Map([...inCache, ...(await read(uncached, keyId, timeout.signal))]);
    });
    return withDeadline(lookUp.catch(unreadable), limitMs, () => {
      timeout.abort();
      return unreadable();
    });
  };
}

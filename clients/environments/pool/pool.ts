import { doubling, pause, unlessAborted } from '../../../shared/lang/async.ts';
import { type EnvironmentFailure, environmentFailure, environmentFull } from '../environment-failure.ts';
import { type PoolAnswer, request } from './connection.ts';
import { type Lease, openLease } from './lease.ts';
import { Allocated } from './wire.ts';

/** The leases of one rollout at a pool server. */
export type Pool = {
  /**
   * Takes a place in the pool.
   * @throws EnvironmentFailure, or the reason of the signal; a lease that arrives later is closed
   */
  readonly allocate: (body: object, options: AllocateOptions) => Promise<Lease>;
  /** Resolves when no lease is being taken or given back. Never throws. */
  readonly settled: () => Promise<void>;
  /** Leases that the pool may still count although the rollout has none. */
  readonly remarks: () => readonly string[];
};

export type AllocateOptions = {
  /** a second request with the same body gets the same lease */
  readonly isIdempotent: boolean;
  readonly limitMs: number;
  readonly signal: AbortSignal;
};

type PoolSettings = {
  readonly url: string;
  readonly heartbeatMs: number;
  /** ms for giving a place back */
  readonly closeLimitMs: number;
};

/** ms before each further try after a lost answer */
const ALLOCATE_WAITS = [500, 2_000];

export function createPool(settings: PoolSettings): Pool {
  const [unclosed, unknown]: [string[], string[]] = [[], []];
  const pending = new Set<Promise<unknown>>();
  const track = <Value>(work: Promise<Value>): Promise<Value> => {
    pending.add(work);
    const forget = () => pending.delete(work);
    work.then(forget, forget);
    return work;
  };
  const take = async (body: object, { isIdempotent, limitMs }: AllocateOptions): Promise<Lease> => {
    for (const wait of isIdempotent ? [...ALLOCATE_WAITS, undefined] : [undefined]) {
      const answer = await request(`${settings.url}/allocate`, body, { limitMs });
      const allocated = answer.kind === 'answer' ? Allocated.safeParse(answer.body).data : undefined;
      if (allocated !== undefined) {
        const lease = openLease(allocated.lease_id, {
          ...settings,
          onUnclosed: (text) => unclosed.push(text),
        });
        return { ...lease, close: () => track(lease.close()) };
      }
      const isLost = answer.kind === 'silent' && answer.mayHaveArrived;
      if (isLost && wait !== undefined) await pause(wait);
      else {
        if (isLost) unknown.push(answer.reason);
        throw failureOf(answer, isIdempotent);
      }
    }
    throw new Error('unreachable: the last try returns or throws');
  };
  return {
    allocate: async (body, options) => {
      options.signal.throwIfAborted();
      const taking = track(take(body, options));
      return unlessAborted(taking, options.signal, () => {
        // The request continues, because its answer is needed to give the place back.
        void track(
          taking.then(
            (lease) => lease.close(),
            () => {},
          ),
        );
        throw options.signal.reason;
      });
    },
    settled: async () => {
      while (pending.size > 0) await Promise.allSettled(pending);
    },
    remarks: () => [
      ...(unclosed.length === 0
        ? []
        : [`${unclosed.length} leases could not be closed at the pool server, the last: ${unclosed.at(-1)}`]),
      ...(unknown.length === 0
        ? []
        : [
            `${unknown.length} answers to /allocate were lost, so the pool may hold places that nobody uses, the last: ${unknown.at(-1)}`,
          ]),
    ],
  };
}

/** The messages of pools without a separate status when all places are taken. */
const noRoom = /\b(?:full|exhausted)\b/i;

function failureOf(answer: PoolAnswer, isIdempotent: boolean): EnvironmentFailure {
  if (answer.kind === 'answer') return environmentFailure('environment-broken', '/allocate: no lease_id');
  const reason = `/allocate: ${answer.reason}`;
  if (answer.kind === 'refused') {
    if (answer.status === 429 || answer.status === 503 || noRoom.test(answer.reason))
      return environmentFull(reason);
    // Waiting makes room, but does not change a request that the server does not understand.
    const isWrong = answer.status >= 400 && answer.status < 500;
    return environmentFailure(isWrong ? 'environment-broken' : 'environment-unavailable', reason);
  }
  // Repeated until there is an answer, each lost one would cost a place: count it as a try of the attempt.
  const mayLeak = answer.mayHaveArrived && !isIdempotent;
  return environmentFailure(mayLeak ? 'environment-lost' : 'environment-unavailable', reason);
}

/** ms between two tries to get a place */
const [FIRST_WAIT, LONGEST_WAIT] = [500, 10_000];

/** Waits while the pool is full. @throws EnvironmentFailure, or the reason of the signal */
export async function allocatePatiently(
  pool: Pool,
  body: object,
  options: AllocateOptions,
  isBusy: (error: unknown) => boolean,
): Promise<Lease> {
  for (const wait of doubling(FIRST_WAIT, LONGEST_WAIT)) {
    try {
      return await pool.allocate(body, options);
    } catch (error) {
      if (!isBusy(error)) throw error;
    }
    await pause(wait, options.signal);
    options.signal.throwIfAborted();
  }
  throw new Error('unreachable: the waits are endless');
}

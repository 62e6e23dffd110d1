import { z } from 'zod';
import { pause } from '../../../shared/lang/async.ts';
import { monotonicNow } from '../../../shared/runtime/clock.ts';
import {
  type EnvironmentFailure,
  type EnvironmentFailureKind,
  environmentFailure,
} from '../environment-failure.ts';
import { type PoolAnswer, request } from './connection.ts';

/** The purpose of a request, which decides the meaning of a refusal. */
type Phase = 'opening' | 'acting' | 'evaluating';

type AskOptions = {
  readonly phase: Phase;
  readonly limitMs: number;
  readonly signal?: AbortSignal | undefined;
};

/** A place in the pool, for one attempt. */
export type Lease = {
  readonly id: string;
  /**
   * Sends a request with the lease, once.
   * @throws EnvironmentFailure
   */
  readonly ask: <Schema extends z.ZodType>(
    path: string,
    body: object,
    schema: Schema,
    options: AskOptions,
  ) => Promise<z.output<Schema>>;
  /** Gives the place back; requests in progress end. Repeated calls wait for the first. Never throws. */
  readonly close: () => Promise<void>;
};

type LeaseSettings = {
  /** of the server */
  readonly url: string;
  /** ms between two signs of life */
  readonly heartbeatMs: number;
  /** ms for `/close` */
  readonly closeLimitMs: number;
  /** the server did not confirm that it took the lease back */
  readonly onUnclosed: (reason: string) => void;
};

/** ms */
const HEARTBEAT_LIMIT = 30_000;
/** ms before each further try to close */
const CLOSE_WAITS = [500, 2_000];

/** The servers' messages about an ended lease. */
const lostLease = /unknown \w*lease|points to (?:a )?missing|not found in task slot/i;

/** Keeps a lease alive until it is closed: the server takes it back when it hears nothing, however long a model thinks. */
export function openLease(id: string, settings: LeaseSettings): Lease {
  const { url, heartbeatMs } = settings;
  const over = new AbortController();
  let lost: EnvironmentFailure | undefined;
  let inProgress = 0;
  let closing: Promise<void> | undefined;

  const beat = async (): Promise<void> => {
    for (;;) {
      await pause(heartbeatMs, over.signal);
      if (over.signal.aborted || lost !== undefined) return;
      if (inProgress > 0) continue; // the request shows life, and the server answers one at a time
      const options = { limitMs: HEARTBEAT_LIMIT, signal: over.signal };
      const answer = await request(`${url}/heartbeat`, { lease_id: id }, options).catch(() => undefined);
      if (answer?.kind === 'refused' && lostLease.test(answer.reason))
        lost = environmentFailure('environment-lost', `the lease ended: ${answer.reason}`);
    }
  };
  void beat();

  return {
    id,
    ask: async (path, body, schema, { phase, limitMs, signal }) => {
      if (lost !== undefined) throw lost;
      if (closing !== undefined) throw environmentFailure('environment-lost', 'the lease is closed');
      const ended = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]);
      inProgress++;
      const answer = await request(
        `${url}${path}`,
        { lease_id: id, ...body },
        { limitMs, signal: ended },
      ).finally(() => inProgress--);
      if (answer.kind !== 'answer') {
        const failure = failureOf(path, answer, phase);
        if (answer.kind === 'refused' && lostLease.test(answer.reason)) lost = failure;
        throw failure;
      }
      const parsed = schema.safeParse(answer.body);
      if (parsed.success) return parsed.data;
      throw environmentFailure(kindOf(phase), `${path}: ${z.prettifyError(parsed.error)}`);
    },
    close: () => {
      closing ??= closeLease(id, settings);
      over.abort(new Error('the lease is closed'));
      return closing;
    },
  };
}

const kindOf = (phase: Phase): EnvironmentFailureKind =>
  ({
    opening: 'environment-unavailable' as const,
    acting: 'environment-broken' as const,
    evaluating: 'evaluation-failed' as const,
  })[phase];

/** Bad gateway: the router of several workers does not reach the one with the lease. */
const BAD_GATEWAY = 502;

function failureOf(
  path: string,
  answer: Exclude<PoolAnswer, { readonly kind: 'answer' }>,
  phase: Phase,
): EnvironmentFailure {
  const reason = `${path}: ${answer.reason}`;
  if (phase === 'opening') return environmentFailure('environment-unavailable', reason);
  const isLost =
    answer.kind === 'refused'
      ? lostLease.test(answer.reason) || answer.status === BAD_GATEWAY
      : phase === 'acting';
  return environmentFailure(isLost ? 'environment-lost' : kindOf(phase), reason);
}

/** Closing is idempotent, so it is repeated. */
async function closeLease(
  id: string,
  { url, closeLimitMs: limitMs, onUnclosed }: LeaseSettings,
): Promise<void> {
  const end = monotonicNow() + limitMs;
  for (const wait of [...CLOSE_WAITS, undefined]) {
    const answer = await request(`${url}/close`, { lease_id: id }, { limitMs });
    if (answer.kind === 'answer') return;
    if (answer.kind === 'refused' && lostLease.test(answer.reason)) return; // it had already ended
    if (wait === undefined || monotonicNow() + wait > end) return onUnclosed(`${id}: ${answer.reason}`);
    await pause(wait);
  }
}

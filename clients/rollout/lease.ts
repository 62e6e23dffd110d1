import { hash } from 'node:crypto';
import { hostname } from 'node:os';
import { environmentFailureKinds } from '../../shared/events/environment-fields.ts';
import { defined } from '../../shared/lang/defined.ts';
import { monotonicNow } from '../../shared/runtime/clock.ts';
import type { Action, Evaluation, Observation } from '../environments/environment.ts';
import { environmentFailure } from '../environments/environment-failure.ts';
import type { LeaseClient, LeaseFact } from '../lease-client.ts';
import { type Failure, type FailureKind, failed } from './failures.ts';
import { persist } from './persist.ts';

export type Leasing = {
  readonly client: Pick<LeaseClient, 'say'>;
  /** kind of environment */
  readonly environment: string;
  /** ms after which an environment whose client is silent counts as free */
  readonly ttlMs: number;
};

type Leased = {
  readonly session: string;
  readonly task: { readonly name: string; readonly data: unknown };
  readonly attempt: number;
};

/** The lease of an environment by one session. Its events become facts in the log. */
export type AttemptLease = {
  readonly ready: () => void;
  /** @param began monotonic time of the action, ms */
  readonly acted: (action: Action, observation: Observation, began: number) => void;
  /** @throws EnvironmentFailure when the lease has ended, or the server is silent */
  readonly check: () => void;
  /** Records the rating, and gives the one that counts. @throws EnvironmentFailure as `check` */
  readonly evaluated: (evaluation: Evaluation) => Promise<Evaluation>;
  readonly failed: (failure: Failure) => void;
  /** Never throws. */
  readonly release: () => Promise<void>;
};

/** characters of a reason */
const LONGEST_REASON = 1_000;
/** Renewals per time to live: one may be late or lost. */
const RENEWALS = 3;

/** Refusals of a lease after which another session may get one. */
const refusals: Readonly<Record<string, FailureKind>> = {
  lease_ended: 'environment-lost',
  session_not_found: 'session-ended',
};

/** Takes the lease, and renews it until its release, however long the policy thinks. */
export async function takeLease(
  { client, environment, ttlMs }: Leasing,
  { session, task, attempt }: Leased,
  stop: AbortSignal,
): Promise<AttemptLease | Failure> {
  const began = monotonicNow();
  const ttl = { ttl_seconds: ttlMs / 1000 };
  const send = (fact: LeaseFact) => persist(() => client.say(session, fact), stop);
  const first = await send({
    what: 'leased',
    environment,
    task: task.name,
    task_digest: digestOf(task.data),
    attempt,
    host: hostname(),
    ...ttl,
  });
  if (first.kind === 'silent') return failed('server-silent', first.reason);
  if (first.kind === 'refused')
    return failed(refusals[first.code] ?? 'environment-unavailable', first.message);

  let ended: string | undefined;
  let sending: Promise<unknown> = Promise.resolve();
  let reward: number | undefined;
  /** Facts are sent in order, behind the attempt. */
  const say = (fact: LeaseFact): Promise<void> => {
    const sent = sending.then(async () => {
      if (ended !== undefined && fact.what !== 'released') return;
      const answer = await send(fact);
      if (answer.kind === 'answer') reward = answer.value;
      else ended ??= answer.kind === 'silent' ? answer.reason : answer.message;
    });
    sending = sent;
    return sent;
  };
  let renewals = 0;
  let isRenewing = false;
  const renewing = setInterval(() => {
    if (isRenewing) return;
    isRenewing = true;
    void say({ what: 'renewed', renewal: ++renewals, ...ttl }).finally(() => (isRenewing = false));
  }, ttlMs / RENEWALS);
  renewing.unref();
  const check = (): void => {
    if (ended !== undefined) throw environmentFailure('environment-lost', ended);
  };
  return {
    ready: () => void say({ what: 'ready', ms: monotonicNow() - began }),
    acted: (action, observation, from) => void say(actedFact(action, observation, monotonicNow() - from)),
    check,
    evaluated: async (evaluation) => {
      await say({
        what: 'evaluated',
        reward: evaluation.reward ?? null,
        detailDigest: digestOf(evaluation.detail),
      });
      check();
      return { ...evaluation, reward: reward ?? evaluation.reward };
    },
    failed: ({ failure, error }) => {
      const kind = environmentFailureKinds.find((name) => name === failure);
      if (kind !== undefined) void say({ what: 'failed', kind, reason: error.slice(0, LONGEST_REASON) });
    },
    release: async () => {
      clearInterval(renewing);
      await say({ what: 'released' });
    },
  };
}

const actedFact = (
  { id, name, arguments: given }: Action,
  { content, isError, isDone, stateKey }: Observation,
  ms: number,
): LeaseFact => ({
  what: 'acted',
  call: id,
  name,
  argumentsDigest: digestOf(given),
  observationDigest: hash('sha256', content),
  bytes: Buffer.byteLength(content),
  isError,
  isDone,
  ...defined({ stateKey }),
  ms,
});

const digestOf = (value: unknown): string => hash('sha256', JSON.stringify(value) ?? 'absent');

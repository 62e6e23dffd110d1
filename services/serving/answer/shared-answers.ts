import { createHmac, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { doubling, pause } from '../../../shared/lang/async.ts';
import { parseJson } from '../../../shared/lang/json.ts';
import { ServingError } from '../errors.ts';
import { type RecordedAnswer, type RecordedAnswers, toJson } from './recorded-answers.ts';
import { type Sealed, sealing } from './sealed-text.ts';

/** A place that several servings share, under names that none of them can guess. */
export type SharedPlace = {
  /**
   * Claims a name without a value for `leaseMs`; undefined: claimed. Otherwise what is there: a claim or a value.
   * Undefined, too, when the place does not answer: then nothing is shared.
   */
  readonly claim: (name: string, claim: string, leaseMs: number) => Promise<string | undefined>;
  /** Extends a claim of this process; no effect if the name has something else. */
  readonly renew: (name: string, claim: string, leaseMs: number) => Promise<void>;
  /** Stores the value, unless the name has another's claim or value. Within limits per owner and for all. */
  readonly keep: (
    name: string,
    claim: string,
    stored: { readonly owner: string; readonly value: string },
  ) => Promise<void>;
  /** Ends a claim; no effect if the name has something else. */
  readonly release: (name: string, claim: string) => Promise<void>;
};

const Stored = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('claim'), digest: z.string() }),
  z.object({ kind: z.literal('answer'), digest: z.string(), answer: z.custom<RecordedAnswer>() }),
]);

/** ms after which the claim of a serving that died ends */
const LEASE_MS = 15_000;
const RENEW_MS = 5_000;
/** ms between two looks at the claim of another serving */
const LOOKS: readonly [first: number, longest: number] = [50, 500];

export type SharedAnswersOptions = {
  readonly local: RecordedAnswers;
  readonly place: SharedPlace;
  /** the same on all servings that share: names and texts are readable with it only */
  readonly secret: Uint8Array;
  readonly leaseMs?: number;
  readonly renewMs?: number;
};

/**
 * Stored answers of all servings. Each also has its own, as without a shared place: what is shared may be lost, and a
 * place that does not answer stops nobody from chatting.
 */
export function openSharedAnswers({
  local,
  place,
  secret,
  leaseMs = LEASE_MS,
  renewMs = RENEW_MS,
}: SharedAnswersOptions): RecordedAnswers {
  const sealed = sealing(secret);
  const nameOf = (kind: string, parts: readonly unknown[]) =>
    createHmac('sha256', secret)
      .update(`clawloop ${kind}\n${JSON.stringify(parts)}`)
      .digest('hex');

  return {
    sweep: local.sweep,
    claim: async (request, signal) => {
      const claim = await local.claim(request, signal);
      if (claim.kind === 'recorded') return claim;
      const { keyId, session, idempotencyKey, digest } = request;
      const name = nameOf('stored answer', [keyId, session ?? null, idempotencyKey]);
      const mine = sealed.close(name, JSON.stringify({ kind: 'claim', digest, id: randomUUID() }));
      try {
        const found = await untilClaimed({ place, name, mine, leaseMs, sealed, digest }, signal);
        if (found !== undefined) {
          claim.leave();
          return { kind: 'recorded', answer: found };
        }
      } catch (error) {
        void place.release(name, mine); // the client may have left while the claim was under way
        claim.leave();
        throw error;
      }
      const renewing = setInterval(() => void place.renew(name, mine, leaseMs), renewMs);
      renewing.unref();
      return {
        kind: 'first',
        keep: async (answer) => {
          const value = sealed.close(name, toJson({ kind: 'answer', digest, answer }));
          const owner = nameOf('owner of stored answers', [keyId]).slice(0, 16);
          await Promise.all([claim.keep(answer), place.keep(name, mine, { owner, value })]);
        },
        leave: () => {
          clearInterval(renewing);
          void place.release(name, mine);
          claim.leave();
        },
      };
    },
  };
}

type Wish = {
  readonly place: SharedPlace;
  readonly name: string;
  readonly mine: string;
  readonly leaseMs: number;
  readonly sealed: Sealed;
  readonly digest: string;
};

/** Resolves to the answer that another serving has stored, or to undefined when this one may generate it. */
async function untilClaimed(
  { place, name, mine, leaseMs, sealed, digest }: Wish,
  signal: AbortSignal,
): Promise<RecordedAnswer | undefined> {
  for (const wait of doubling(...LOOKS)) {
    signal.throwIfAborted();
    const there = await place.claim(name, mine, leaseMs);
    signal.throwIfAborted();
    if (there === undefined) return undefined;
    const { data: stored } = Stored.safeParse(parseJson(sealed.open(name, there) ?? ''));
    if (stored === undefined) return undefined; // damaged: as if nothing was shared
    if (stored.digest !== digest) throw ServingError.IDEMPOTENCY_KEY_REUSED({ param: 'idempotency-key' });
    if (stored.kind === 'answer') return stored.answer;
    await pause(wait, signal);
  }
  return undefined;
}

import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { unlessAborted } from '../../../shared/lang/async.ts';
import { parseJson } from '../../../shared/lang/json.ts';
import { writeDurably } from '../../../shared/runtime/write-durably.ts';
import { ServingError } from '../errors.ts';
import type { FinishedAnswer } from './answer.ts';
import { createFairCache, type FairCacheLimits } from './fair-cache.ts';

/** The part of an answer that is needed to replay it. */
export type RecordedAnswer = {
  readonly id: string;
  /** s since 1970 */
  readonly created: number;
  /** Without the token record of the event, but with requested `logprobs`. */
  readonly finished: FinishedAnswer;
};

type RepeatableRequest = {
  /** Idempotency keys are separate for each access key, */
  readonly keyId: string;
  /** and for each session. */
  readonly session?: string | undefined;
  readonly idempotencyKey: string;
  /** Digest of everything that determines the answer. */
  readonly digest: string;
};

type Claim =
  | { readonly kind: 'recorded'; readonly answer: RecordedAnswer }
  | {
      readonly kind: 'first';
      /** Resolves when the answer is durable. Rejects if it cannot be written. */
      readonly keep: (answer: RecordedAnswer) => Promise<void>;
      /** Ends the claim: waiting requests get the stored answer or, if there is none, generate their own. */
      readonly leave: () => void;
    };

export type RecordedAnswers = {
  /**
   * The answer to an earlier request with this key, or the right to generate it. Waits while another request of this
   * process has that right, until the signal aborts.
   * @throws ServingError IDEMPOTENCY_KEY_REUSED; the signal's reason
   */
  readonly claim: (request: RepeatableRequest, signal: AbortSignal) => Promise<Claim>;
  /** Deletes expired answers. */
  readonly sweep: () => Promise<void>;
};

/** ms during which an answer can be replayed */
export const REPEATABLE_MS = 24 * 3_600_000;
/** JSON has no infinity, which is the logprob of an impossible token. */
const LEAST_LOG_PROB = -9999;

const StoredAnswer = z.object({ digest: z.string(), at: z.number(), answer: z.custom<RecordedAnswer>() });

/** Limits of all files that this process knows; each sweep finds those of other replicas. */
const LIMITS: FairCacheLimits = { bytes: 2 ** 30, bytesPerOwner: 2 ** 28 };

/**
 * Answers to requests with an `Idempotency-Key`, one file each. They survive restarts. Replicas that share the folder
 * share the answers, but do not wait for each other. If the files exceed the limit, the access key with the most bytes
 * loses its oldest answers.
 *
 * @param now ms since 1970
 */
export function openRecordedAnswers(
  folder: string,
  now: () => number = Date.now,
  limits = LIMITS,
): RecordedAnswers {
  const files = createFairCache<true>(limits);
  const count = async (name: string, bytes: number): Promise<void> => {
    const owner = name.split('-')[0]!;
    for (const evicted of files.set(name, { owner, value: true, bytes }))
      await unlink(join(folder, evicted)).catch(() => {});
  };
  const underway = new Map<string, { readonly digest: string; readonly done: Promise<void> }>();
  const find = async (path: string) => {
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text === undefined) return undefined;
    const stored = StoredAnswer.safeParse(parseJson(text));
    return stored.success && now() - stored.data.at < REPEATABLE_MS ? stored.data : undefined;
  };
  return {
    claim: async ({ keyId, session, idempotencyKey, digest }, signal) => {
      const owner = session === undefined ? keyId : `${keyId}/${session}`;
      const hashed = sha256(JSON.stringify([owner, idempotencyKey]));
      const name = `${sha256(keyId).slice(0, 16)}-${hashed}.json`;
      const path = join(folder, name);
      const refuseDifferent = (other: string) => {
        if (other !== digest) throw ServingError.IDEMPOTENCY_KEY_REUSED({ param: 'idempotency-key' });
      };
      for (;;) {
        signal.throwIfAborted();
        const first = underway.get(name);
        if (first === undefined) break;
        refuseDifferent(first.digest);
        await unlessAborted(first.done, signal, () => {});
      }
      const { promise: done, resolve } = Promise.withResolvers<void>();
      const leave = () => {
        underway.delete(name);
        resolve();
      };
      underway.set(name, { digest, done }); // before the first await, so that only one of two requests claims the key
      try {
        const stored = (await find(path)) ?? (await find(join(folder, `${hashed}.json`))); // file name of earlier versions
        if (stored === undefined) {
          const keep = async (answer: RecordedAnswer) => {
            await mkdir(folder, { recursive: true });
            const text = toJson({ digest, at: now(), answer });
            await writeDurably(path, text);
            await count(name, Buffer.byteLength(text));
          };
          return { kind: 'first', keep, leave };
        }
        refuseDifferent(stored.digest);
        leave();
        return { kind: 'recorded', answer: stored.answer };
      } catch (error) {
        leave();
        throw error;
      }
    },
    sweep: async () => {
      const stored: { readonly name: string; readonly bytes: number; readonly at: number }[] = [];
      for (const name of await readdir(folder).catch(() => [])) {
        const path = join(folder, name);
        const file = await stat(path).catch(() => undefined);
        if (file === undefined) continue;
        if (now() - file.mtimeMs < REPEATABLE_MS) stored.push({ name, bytes: file.size, at: file.mtimeMs });
        else {
          await unlink(path).catch(() => {});
          files.delete(name);
        }
      }
      for (const { name, bytes } of stored.sort((a, b) => a.at - b.at)) await count(name, bytes);
    },
  };
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** JSON of an answer with what is stored beside it. */
export const toJson = <Stored extends { readonly answer: RecordedAnswer }>({
  answer,
  ...stored
}: Stored): string =>
  JSON.stringify({ ...stored, answer: withoutRecord(answer) }, (_key, value: unknown) =>
    value === Number.NEGATIVE_INFINITY ? LEAST_LOG_PROB : value,
  );

/** The event has the token record, which is most of an answer's bytes. */
const withoutRecord = ({ finished, ...answer }: RecordedAnswer): RecordedAnswer => ({
  ...answer,
  finished: {
    ...finished,
    choices: finished.choices.map((choice) => ({
      ...choice,
      generated: { ...choice.generated, tokens: null },
    })),
  },
});

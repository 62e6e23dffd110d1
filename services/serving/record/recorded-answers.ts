import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { writeDurably } from '../../../shared/service/write-durably.ts';
import type { Finished } from '../chat/completion.ts';
import { ServingError } from '../errors.ts';
import { createFairCache, type FairCacheLimits } from '../fair-cache.ts';

/** What a client was told, as far as it takes to tell it once more. */
export type RecordedAnswer = {
  readonly id: string;
  /** s since the epoch */
  readonly created: number;
  /** Without the ids and log-probs that the fact has; `logprobs` that were asked for are there. */
  readonly finished: Finished;
};

export type RepeatableRequest = {
  /** Keys of different clients have nothing to do with each other. */
  readonly keyId: string;
  /** Nor have those of the sessions of one access key. */
  readonly session?: string | undefined;
  readonly idempotencyKey: string;
  /** Of all that the answer depends on. */
  readonly digest: string;
};

export type Claim =
  | { readonly kind: 'recorded'; readonly answer: RecordedAnswer }
  | {
      readonly kind: 'first';
      /** Durable when it resolves. Rejects when it cannot be written. */
      readonly keep: (answer: RecordedAnswer) => Promise<void>;
      /** Lets whoever waits for the answer go on, with it or, where none was kept, for one of their own. */
      readonly leave: () => void;
    };

export type RecordedAnswers = {
  /**
   * The answer to an earlier request with this key, or the right to answer it first. Waits while another
   * request of this process does that, until the signal aborts.
   * @throws ServingError IDEMPOTENCY_KEY_REUSED; the signal's reason
   */
  readonly claim: (request: RepeatableRequest, signal: AbortSignal) => Promise<Claim>;
  /** Forgets what nobody can ask for any more. */
  readonly sweep: () => Promise<void>;
};

/** ms that an answer can be asked for again */
export const REPEATABLE_MS = 24 * 3_600_000;
/** JSON knows no infinity, which is the log-prob of a token that cannot be. */
const LEAST_LOG_PROB = -9999;

const Kept = z.object({ digest: z.string(), at: z.number(), answer: z.custom<RecordedAnswer>() });

/** Of the files together, as far as this process knows them: those of other replicas are seen by each sweep. */
const LIMITS: FairCacheLimits = { bytes: 2 ** 30, bytesPerOwner: 2 ** 28 };

/**
 * Answers to requests with an `Idempotency-Key`, one file each. They outlive the process; replicas that share
 * the folder share them, but do not wait for each other. Where they take too many bytes, the oldest ones of
 * the access key that has most go.
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
    for (const old of files.set(name, { owner, value: true, bytes }))
      await unlink(join(folder, old)).catch(() => {});
  };
  const underway = new Map<string, { readonly digest: string; readonly done: Promise<void> }>();
  const find = async (path: string) => {
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text === undefined) return undefined;
    const kept = Kept.safeParse(parseJson(text));
    return kept.success && now() - kept.data.at < REPEATABLE_MS ? kept.data : undefined;
  };
  return {
    claim: async ({ keyId, session, idempotencyKey, digest }, signal) => {
      const owner = session === undefined ? keyId : `${keyId}/${session}`;
      const hashed = sha256(JSON.stringify([owner, idempotencyKey]));
      const name = `${sha256(keyId).slice(0, 16)}-${hashed}.json`;
      const path = join(folder, name);
      const refuseOther = (other: string) => {
        if (other !== digest) throw ServingError.IDEMPOTENCY_KEY_REUSED({ param: 'idempotency-key' });
      };
      for (;;) {
        signal.throwIfAborted();
        const first = underway.get(name);
        if (first === undefined) break;
        refuseOther(first.digest);
        await unlessAborted(first.done, signal);
      }
      const { promise: done, resolve } = Promise.withResolvers<void>();
      const leave = () => {
        underway.delete(name);
        resolve();
      };
      underway.set(name, { digest, done }); // before anything is waited for: of two, one is first
      try {
        const kept = (await find(path)) ?? (await find(join(folder, `${hashed}.json`))); // of an earlier program
        if (kept === undefined) {
          const keep = async (answer: RecordedAnswer) => {
            await mkdir(folder, { recursive: true });
            const text = toJson({ digest, at: now(), answer });
            await writeDurably(path, text);
            await count(name, Buffer.byteLength(text));
          };
          return { kind: 'first', keep, leave };
        }
        refuseOther(kept.digest);
        leave();
        return { kind: 'recorded', answer: kept.answer };
      } catch (error) {
        leave();
        throw error;
      }
    },
    sweep: async () => {
      const kept: { readonly name: string; readonly bytes: number; readonly at: number }[] = [];
      for (const name of await readdir(folder).catch(() => [])) {
        const path = join(folder, name);
        const file = await stat(path).catch(() => undefined);
        if (file === undefined) continue;
        if (now() - file.mtimeMs < REPEATABLE_MS) kept.push({ name, bytes: file.size, at: file.mtimeMs });
        else {
          await unlink(path).catch(() => {});
          files.delete(name);
        }
      }
      for (const { name, bytes } of kept.sort((a, b) => a.at - b.at)) await count(name, bytes);
    },
  };
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

async function unlessAborted(done: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const onAbort = () => resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  await Promise.race([done, aborted]).finally(() => signal.removeEventListener('abort', onAbort));
}

const toJson = ({ answer, ...kept }: z.output<typeof Kept>): string =>
  JSON.stringify({ ...kept, answer: withoutRecord(answer) }, (_key, value: unknown) =>
    value === Number.NEGATIVE_INFINITY ? LEAST_LOG_PROB : value,
  );

/** The fact has the tokens; they are most of an answer's bytes. */
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

import { createHash } from 'node:crypto';
import type { createFaults } from './fake-faults.ts';
import { BadRequest } from './trained-models.ts';

export type Body = Readonly<Record<string, unknown>>;
export type Result = { readonly json: unknown; readonly protobuf?: Uint8Array };
export type Future = { readonly done: Promise<void>; result?: Result; failure?: string };

/** An answer other than 200. */
export class Status extends Error {
  readonly status: number;
  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

/** Calls are executed one after another; each has a promise that is polled by its id. */
export function createPromises(faults: ReturnType<typeof createFaults>) {
  const futures = new Map<string, Future>();
  /** by model and sequence number */
  const numbered = new Map<string, { readonly digest: string; readonly id: string }>();
  let work: Promise<void> = Promise.resolve();
  let count = 0;

  const execute = async (path: string, future: Future, run: () => Promise<Result> | Result) => {
    await faults.take('hold', path)?.gate.promise;
    const failing = faults.take('fail', path);
    if (faults.take('die', path) !== undefined) process.kill(process.pid, 'SIGKILL');
    try {
      if (failing !== undefined) throw new BadRequest(failing.fault.detail);
      future.result = await run();
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error;
      future.failure = error.message;
    }
  };
  const create = (path: string, run: () => Promise<Result> | Result): string => {
    const id = String(++count);
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const future: Future = { done };
    work = work.then(() => execute(path, future, run)).then(resolve);
    futures.set(id, future);
    return id;
  };
  return {
    create,
    /** With `deduplicates`, the promise of the same call before. @throws Status 409 for another call of its number */
    once: (key: string, body: Body, deduplicates: boolean, make: () => string): string => {
      const digest = createHash('sha256').update(JSON.stringify(body)).digest('hex');
      const known = deduplicates ? numbered.get(key) : undefined;
      if (known !== undefined && known.digest !== digest)
        throw new Status(409, 'Training request sequence number was reused');
      const id = known?.id ?? make();
      numbered.set(key, { digest, id });
      return id;
    },
    get: (id: string) => futures.get(id),
    /** The promise is gone; its call, sent again, gets another promise of the same result. */
    drop: (id: string) => {
      const future = futures.get(id);
      for (const [key, { id: known, digest }] of numbered) {
        if (known !== id || future === undefined) continue;
        const other = String(++count);
        futures.set(other, future);
        numbered.set(key, { digest, id: other });
      }
      futures.delete(id);
    },
    forget: () => {
      futures.clear();
      numbered.clear();
    },
    settled: () => work,
  };
}

export type Promises = ReturnType<typeof createPromises>;

import { createMutex } from '../lang/async.ts';
import type { Connection, RawResult } from './connection.ts';

/** The requests of one model: one at a time, each with the next number. */
export type NumberedRequests = {
  readonly model: string;
  readonly signal: AbortSignal;
  /** whether a request was sent */
  readonly hasBegun: () => boolean;
  readonly next: <Result>(send: (sequence: number) => Promise<Result>) => Promise<Result>;
  /** The next request, with its number in the body. */
  readonly post: (path: string, body: object, isRepeatable?: boolean) => Promise<RawResult>;
  /** All later requests fail with this error. */
  readonly fail: (error: unknown) => unknown;
};

/** After a failure nobody knows what the model has done, so nothing more is sent to it. */
export function createNumberedRequests(
  connection: Connection,
  model: string,
  signal: AbortSignal,
): NumberedRequests {
  const inTurn = createMutex();
  let sequence = 0;
  let failure: { readonly error: unknown } | undefined;
  const fail = (error: unknown) => {
    failure ??= { error };
    return error;
  };
  const next: NumberedRequests['next'] = (send) =>
    inTurn(async () => {
      if (failure !== undefined) throw failure.error;
      signal.throwIfAborted();
      sequence += 1;
      try {
        return await send(sequence);
      } catch (error) {
        throw fail(error);
      }
    });
  return {
    model,
    signal,
    hasBegun: () => sequence > 0,
    next,
    post: (path, body, isRepeatable = false) =>
      next((number) =>
        connection.future(
          path,
          { model_id: model, seq_id: number, ...body },
          { signal, isRepeatable, model, sequence: number },
        ),
      ),
    fail,
  };
}

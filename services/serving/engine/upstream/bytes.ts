import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { JsonText } from '../../../../shared/chat/json-text.ts';

/** The bytes of an answer as they arrive, for one listener. */
export type AnswerBytes = {
  /** Starts with the bytes that have already arrived. */
  readonly listen: (listener: BytesListener) => void;
  /** Closes the connection. The listener is not called again. */
  readonly stop: () => void;
};

type BytesListener = {
  readonly onBytes: (bytes: Uint8Array) => void;
  readonly onEnd: () => void;
  readonly onBreak: (error: Error) => void;
};

export type OpenedAnswer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: AnswerBytes;
};

type RequestOptions = {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: JsonText;
  readonly signal: AbortSignal;
};

/**
 * Sends one request; resolves when its answer begins. `undici.request` would return a stream, whose parts link
 * requests for the garbage collector: a third of the allocations of a 100 KB request would survive until the
 * next full collection.
 */
export function openAnswer(
  dispatcher: Dispatcher,
  address: string,
  { signal, ...options }: RequestOptions,
): Promise<OpenedAnswer> {
  const { origin, pathname, search } = new URL(address);
  return new Promise((resolve, reject) => {
    if (signal.aborted) throw signal.reason;
    let controller: Dispatcher.DispatchController | undefined;
    let listener: BytesListener | undefined;
    const early: ((to: BytesListener) => void)[] = [];
    let isStopped = false;
    const notify = (event: (to: BytesListener) => void) => {
      if (isStopped) return;
      if (listener === undefined) early.push(event);
      else event(listener);
    };
    const abort = (reason: Error) => {
      reject(reason); // while it waits for a connection, no callback would report the abort
      controller?.abort(reason);
    };
    const onAbort = () => abort(signal.reason);
    const stopListening = () => signal.removeEventListener('abort', onAbort);
    const bytes: AnswerBytes = {
      listen: (newListener) => {
        listener = newListener;
        for (const event of early.splice(0)) notify(event);
      },
      stop: () => {
        isStopped = true;
        abort(new Error('the rest of the answer is not needed'));
      },
    };
    signal.addEventListener('abort', onAbort);
    dispatcher.dispatch(
      { ...options, origin, path: `${pathname}${search}` },
      {
        onRequestStart: (begun) => {
          controller = begun;
          if (signal.aborted) begun.abort(signal.reason);
        },
        onResponseStart: (_, status, headers) => {
          if (status >= 200) resolve({ status, headers, bytes });
        },
        onResponseData: (_, part) => notify(({ onBytes }) => onBytes(part)),
        onResponseEnd: () => {
          stopListening();
          notify(({ onEnd }) => onEnd());
        },
        onResponseError: (_, error) => {
          stopListening();
          const failure = withPlainMessage(error);
          reject(failure);
          notify(({ onBreak }) => onBreak(failure));
        },
      },
    );
  });
}

/** In place of undici's "Headers Timeout Error", by its code. */
const timeouts: Readonly<Record<string, string>> = {
  UND_ERR_HEADERS_TIMEOUT: 'it sent no answer in time (--upstream-first-byte-timeout-ms)',
  UND_ERR_BODY_TIMEOUT: 'it fell silent during its answer (--upstream-timeout-ms)',
};

function withPlainMessage(error: Error): Error {
  const { code = '' } = error as NodeJS.ErrnoException;
  const message = timeouts[code];
  return message === undefined ? error : Object.assign(new Error(message, { cause: error }), { code });
}

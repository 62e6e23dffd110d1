import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { JsonText } from '../../../shared/chat/json-text.ts';

/** The bytes of an answer as they come, told to one listener. */
export type AnswerBytes = {
  /** Begins with what has come already. */
  readonly hear: (listener: BytesListener) => void;
  /** No more is wanted: closes the connection. Nothing is told after it. */
  readonly stop: () => void;
};

export type BytesListener = {
  readonly onBytes: (bytes: Uint8Array) => void;
  readonly onEnd: () => void;
  readonly onBreak: (error: Error) => void;
};

export type OpenedAnswer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: AnswerBytes;
};

type Asked = {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: JsonText;
  readonly signal: AbortSignal;
};

/**
 * One request; resolves when its answer begins. What `undici.request` gives is a stream, whose parts chain
 * requests together for the garbage collector: a third of all that is made for a request of 100 KB would be
 * kept and copied until the next full collection.
 */
export function openAnswer(
  dispatcher: Dispatcher,
  address: string,
  { signal, ...asked }: Asked,
): Promise<OpenedAnswer> {
  const { origin, pathname, search } = new URL(address);
  return new Promise((resolve, reject) => {
    if (signal.aborted) throw signal.reason;
    let controller: Dispatcher.DispatchController | undefined;
    let listener: BytesListener | undefined;
    const early: ((to: BytesListener) => void)[] = [];
    let isStopped = false;
    const tell = (what: (to: BytesListener) => void) => {
      if (isStopped) return;
      if (listener === undefined) early.push(what);
      else what(listener);
    };
    const abort = (reason: Error) => {
      reject(reason); // it may wait for its connection, and could be told of nothing
      controller?.abort(reason);
    };
    const onAbort = () => abort(signal.reason);
    const over = () => signal.removeEventListener('abort', onAbort);
    const bytes: AnswerBytes = {
      hear: (whoever) => {
        listener = whoever;
        for (const what of early.splice(0)) tell(what);
      },
      stop: () => {
        isStopped = true;
        abort(new Error('no more of the answer is wanted'));
      },
    };
    signal.addEventListener('abort', onAbort);
    dispatcher.dispatch(
      { ...asked, origin, path: `${pathname}${search}` },
      {
        onRequestStart: (begun) => {
          controller = begun;
          if (signal.aborted) begun.abort(signal.reason);
        },
        onResponseStart: (_, status, headers) => {
          if (status >= 200) resolve({ status, headers, bytes });
        },
        onResponseData: (_, part) => tell(({ onBytes }) => onBytes(part)),
        onResponseEnd: () => {
          over();
          tell(({ onEnd }) => onEnd());
        },
        onResponseError: (_, error) => {
          over();
          reject(error);
          tell(({ onBreak }) => onBreak(error));
        },
      },
    );
  });
}

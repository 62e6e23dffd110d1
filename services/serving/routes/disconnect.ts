import type { ServerResponse } from 'node:http';

/** Aborts when the client goes away before its response was written to the end. */
export function abortOnDisconnect(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const onClose = () => {
    if (!response.writableFinished) controller.abort(new Error('the client went away'));
  };
  if (response.destroyed) onClose();
  response.once('close', onClose);
  return controller.signal;
}

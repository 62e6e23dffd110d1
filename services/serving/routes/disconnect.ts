import type { ServerResponse } from 'node:http';

/**
 * Aborts when the client goes away before its response was written to the end, or when the other signal does,
 * with its reason. (`AbortSignal.any` would hold what it is given, requests of 100 KB among them, until the next
 * full garbage collection.)
 */
export function abortOnDisconnect(response: ServerResponse, ending: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const onEnding = () => controller.abort(ending.reason);
  const onClose = () => {
    ending.removeEventListener('abort', onEnding);
    if (!response.writableFinished) controller.abort(new Error('the client went away'));
  };
  if (ending.aborted) onEnding();
  ending.addEventListener('abort', onEnding);
  if (response.destroyed) onClose();
  response.once('close', onClose);
  return controller.signal;
}

import type { ServerResponse } from 'node:http';

/** The requests that are open, by the signal that ends them all. */
const openUnder = new WeakMap<AbortSignal, Set<AbortController>>();

/**
 * Aborts when the client goes away before its response was written to the end, or when the other signal does,
 * with its reason. That one is listened to once for all requests: what an `AbortSignal` has as listeners is a
 * chain, in which each that is gone would hold those that came after it, with their requests of 100 KB, until
 * the next full garbage collection. (So would `AbortSignal.any`.)
 */
export function abortOnDisconnect(response: ServerResponse, ending: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const open = openUnder.get(ending) ?? watch(ending);
  const onClose = () => {
    open.delete(controller);
    if (!response.writableFinished) controller.abort(new Error('the client went away'));
  };
  if (ending.aborted) controller.abort(ending.reason);
  open.add(controller);
  if (response.destroyed) onClose();
  response.once('close', onClose);
  return controller.signal;
}

function watch(ending: AbortSignal): Set<AbortController> {
  const open = new Set<AbortController>();
  openUnder.set(ending, open);
  ending.addEventListener('abort', () => {
    for (const controller of open) controller.abort(ending.reason);
  });
  return open;
}

import { parentPort } from 'node:worker_threads';
import type { FromThread, ToThread } from '../signals/thread-protocol.ts';
import { listen, shippedEar } from './ear.ts';

/** The thread of the ear: answers one turn after the other, until it is ended. */
const port = parentPort!;
const tell = (message: FromThread) => port.postMessage(message);

port.on('message', ({ id, turn }: ToThread) => {
  try {
    tell({ kind: 'signals', id, signals: listen(turn) });
  } catch (error) {
    // the kind of the error alone: its message may hold words of the conversation
    tell({ kind: 'broke', id, reason: error instanceof Error ? error.name : typeof error });
  }
});
shippedEar(); // a first vote must not pay for the reading
tell({ kind: 'ready' });

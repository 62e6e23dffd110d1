import { parentPort } from 'node:worker_threads';
import { readSignals } from './signals.ts';
import type { FromThread, ToThread } from './thread-protocol.ts';

/** The thread of the rules: answers one turn after the other, until it is ended. */
const port = parentPort!;
const tell = (message: FromThread) => port.postMessage(message);

port.on('message', ({ id, turn }: ToThread) => {
  try {
    tell({ kind: 'signals', id, signals: readSignals(turn) });
  } catch (error) {
    // the kind of the error alone: its message may hold words of the conversation
    tell({ kind: 'broke', id, reason: error instanceof Error ? error.name : typeof error });
  }
});
tell({ kind: 'ready' });

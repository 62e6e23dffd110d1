import { BroadcastChannel, parentPort } from 'node:worker_threads';
import { contentText } from '../../../../../shared/chat/message.ts';
import { readSignals } from '../signals.ts';
import type { FromThread, ToThread } from '../thread-protocol.ts';

/** A thread of the rules that a message can make do anything. */
const port = parentPort!;
const tell = (message: FromThread) => port.postMessage(message);

port.on('message', ({ id, turn }: ToThread) => {
  const words = contentText(turn.next[0]?.content);
  if (words === 'hang') {
    new BroadcastChannel('hangs').postMessage(words);
    /^(a+)+$/.test(`${'a'.repeat(60)}b`); // longer than anybody waits
  }
  if (words === 'die') process.exit(7);
  if (words === 'fill') for (const all: unknown[] = []; ; all.push(new Array(1_000_000).fill(all)));
  if (words === 'fail') return tell({ kind: 'broke', id, reason: 'RangeError' });
  tell({ kind: 'signals', id, signals: readSignals(turn) });
});
tell({ kind: 'ready' });

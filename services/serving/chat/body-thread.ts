import { parentPort } from 'node:worker_threads';
import { type FromThread, failureOf, type ToThread } from '../engine/thread.ts';
import { readLongBody } from './json-body.ts';

// Long bodies to values: on the main thread one would be a gap in every stream.

const port = parentPort!;
const send = (message: FromThread) => port.postMessage(message);

port.on('message', (message: ToThread) => {
  if (message.kind !== 'call') return;
  const { id } = message;
  try {
    const { buffer, byteOffset, byteLength } = message.ask as Uint8Array;
    send({ kind: 'result', id, result: readLongBody(Buffer.from(buffer, byteOffset, byteLength)) });
  } catch (error) {
    send({ kind: 'failed', id, failure: failureOf(error) });
  }
});

send({ kind: 'ready', report: '' });

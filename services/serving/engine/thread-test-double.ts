import { parentPort } from 'node:worker_threads';
import { ServingError } from '../errors.ts';
import { type FromThread, failureOf, type ToThread } from './thread.ts';

// A thread for tests: echoes, counts until it is told to stop, fails in two ways, dies, and never comes to an end.

const port = parentPort!;
const send = (message: FromThread) => port.postMessage(message);

port.on('message', ({ id, ...message }: ToThread) => {
  if (message.kind === 'abort') return send({ kind: 'result', id, result: 'stopped' });
  switch (message.name) {
    case 'echo':
      send({ kind: 'event', id, event: 'heard' });
      return send({ kind: 'result', id, result: message.ask });
    case 'refuse':
      return send({
        kind: 'failed',
        id,
        failure: failureOf(ServingError.TEMPLATE_REFUSED({ param: 'messages', detail: 'no' })),
      });
    case 'crowd':
      return send({
        kind: 'failed',
        id,
        failure: failureOf(ServingError.ENGINE_BUSY({ waiting: 3, retryAfterSeconds: 7 })),
      });
    case 'break':
      return send({ kind: 'failed', id, failure: failureOf(new Error('out of memory')) });
    case 'die':
      process.exit(3);
      break;
    case 'spin':
      send({ kind: 'event', id, event: { param: 'response_format' } });
      for (;;);
    case 'fill': {
      const held: unknown[] = [];
      for (;;) held.push(Array.from({ length: 10_000 }, (_, at) => ({ at })));
    }
  }
});
send({ kind: 'ready', report: 'under test' });

import { BroadcastChannel } from 'node:worker_threads';
import { contentText } from '../../../../../shared/chat/message.ts';
import { answerCalls } from '../../../../../shared/runtime/answer-calls.ts';
import { kindOfError } from '../../thread-errors.ts';
import { readSignals } from '../signals.ts';
import type { SignalCalls } from '../thread-protocol.ts';

/** A thread of the rules that misbehaves if a message says so. */
answerCalls<SignalCalls>(
  {
    read: (turn) => {
      const words = contentText(turn.next[0]?.content);
      if (words === 'hang') {
        new BroadcastChannel('hangs').postMessage(words);
        /^(a+)+$/.test(`${'a'.repeat(60)}b`); // practically forever
      }
      if (words === 'die') process.exit(7);
      if (words === 'fill') for (const all: unknown[] = []; ; all.push(new Array(1_000_000).fill(all)));
      if (words === 'fail') throw new RangeError('too much');
      return readSignals(turn);
    },
  },
  kindOfError,
);

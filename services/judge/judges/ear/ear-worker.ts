import { answerCalls } from '../../../../shared/runtime/answer-calls.ts';
import type { SignalCalls } from '../signals/thread-protocol.ts';
import { kindOfError } from '../thread-errors.ts';
import { listen, shippedEar } from './ear.ts';

/** The thread of the ear: judges one turn after another until it is terminated. */
shippedEar(); // load the model now rather than during the first vote
answerCalls<SignalCalls>({ read: (turn) => listen(turn) }, kindOfError);

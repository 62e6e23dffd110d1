import { answerCalls } from '../../../../shared/runtime/answer-calls.ts';
import { kindOfError } from '../thread-errors.ts';
import { readSignals } from './signals.ts';
import type { SignalCalls } from './thread-protocol.ts';

/** The thread of the rules: judges one turn after another until it is terminated. */
answerCalls<SignalCalls>({ read: (turn) => readSignals(turn) }, kindOfError);

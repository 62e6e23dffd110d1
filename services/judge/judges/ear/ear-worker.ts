import { answerCalls } from '../../../../shared/runtime/answer-calls.ts';
import { openEar } from '../../ear/open-ear.ts';
import type { SignalCalls } from '../signals/thread-protocol.ts';
import { kindOfError } from '../thread-errors.ts';
import { listen } from './ear.ts';

/** The thread of the ear: judges one turn after another until it is terminated. */
const ear = await openEar();
answerCalls<SignalCalls>({ read: (turn) => listen(turn, ear) }, kindOfError);

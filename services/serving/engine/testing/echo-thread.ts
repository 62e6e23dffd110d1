import { aborted } from '../../../../shared/lang/async.ts';
import { answerCalls } from '../../../../shared/runtime/answer-calls.ts';
import { ServingError } from '../../errors.ts';
import { failureOf } from '../thread.ts';

// A thread for tests: calls that echo, wait for the abort, fail, end the thread, never return, or fill the memory.

answerCalls(
  {
    echo: (ask, { tell }) => {
      tell('heard');
      return ask;
    },
    wait: async (_, { signal }) => {
      await aborted(signal);
      return 'stopped';
    },
    refuse: () => {
      throw ServingError.TEMPLATE_REFUSED({ param: 'messages', detail: 'no' });
    },
    crowd: () => {
      throw ServingError.ENGINE_BUSY({ waiting: 3, retryAfterSeconds: 7 });
    },
    break: () => {
      throw new Error('out of memory');
    },
    die: () => process.exit(3),
    spin: (_, { tell }) => {
      tell({ param: 'response_format' });
      for (;;);
    },
    fill: () => {
      const kept: unknown[] = [];
      for (;;) kept.push(Array.from({ length: 10_000 }, (_, at) => ({ at })));
    },
  },
  failureOf,
  'under test',
);

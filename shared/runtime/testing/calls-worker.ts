import { workerData } from 'node:worker_threads';
import { aborted } from '../../lang/async.ts';
import { answerCalls } from '../answer-calls.ts';

/** A thread for tests. */
export type TestCalls = {
  readonly echo: { readonly ask: unknown; readonly result: unknown };
  readonly count: { readonly ask: number; readonly result: string };
  readonly wait: { readonly ask: null; readonly result: string };
  readonly fail: { readonly ask: null; readonly result: never };
  readonly double: { readonly ask: Float64Array<ArrayBuffer>; readonly result: Float64Array<ArrayBuffer> };
  readonly die: { readonly ask: null; readonly result: never };
};

if (workerData === 'cannot start') throw new Error('no model');

answerCalls<TestCalls>(
  {
    echo: (ask) => ask,
    count: (to, { tell }) => {
      for (let at = 1; at <= to; at++) tell(at);
      return 'counted';
    },
    wait: async (_, { signal }) => {
      await aborted(signal);
      return 'ended early';
    },
    fail: () => {
      throw new RangeError('too large');
    },
    double: (numbers, { handOver }) => {
      const doubled = numbers.map((one) => 2 * one);
      handOver([doubled.buffer]);
      return doubled;
    },
    die: () => process.exit(3),
  },
  (error) => `${(error as Error).name}: ${(error as Error).message}`,
  `loaded ${String(workerData)}`,
);

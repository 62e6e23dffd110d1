import { UsageError } from './command.ts';
import type { Answer } from './rl-client.ts';

/** What the server answered. @throws UsageError with what it said, or that nothing answers */
export function answerOrRefuse<Value>(answer: Answer<Value>, url: string): Value {
  switch (answer.kind) {
    case 'answer':
      return answer.value;
    case 'silent':
      throw new UsageError(`no answer from ${url}: ${answer.reason}`);
    case 'refused': {
      const wait = answer.retryAfter === undefined ? '' : `; try again in ${answer.retryAfter} s`;
      throw new UsageError(`${answer.message}${wait}`);
    }
  }
}

import type { Answer } from '../../clients/api-client.ts';
import { UsageError } from '../../shared/runtime/command-errors.ts';

/** The server's answer. @throws UsageError with the server's refusal, or when there is no answer */
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

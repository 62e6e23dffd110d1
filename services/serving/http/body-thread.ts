import { answerCalls } from '../../../shared/runtime/answer-calls.ts';
import { failureOf } from '../engine/thread.ts';
import type { BodyCalls } from './body-parser.ts';
import { readLargeBody } from './json-body.ts';

// Parses large bodies. On the main thread a large body would pause every stream.

answerCalls<BodyCalls>(
  {
    read: ({ buffer, byteOffset, byteLength }) => readLargeBody(Buffer.from(buffer, byteOffset, byteLength)),
  },
  failureOf,
);

import { expect, test } from 'vitest';
import type { RunningJob } from './job.ts';
import { createSamplingRotation } from './slow-sampling.ts';

const jobs = (asked: object) =>
  [0, 1, 2].map((id) => ({ id, request: asked }) as unknown as Pick<RunningJob, 'id' | 'request'>);

test.each([
  ['an answer with a format', { format: { kind: 'json', param: 'x' } }, 1],
  ['a forced call', { forcedCall: ['f'], argumentSchemas: { f: { type: 'object' } } }, 1],
  ['a free answer', {}, 3],
])('slow sampling: of three times %s, a limited number takes part in a step', (_, asked, most) => {
  let clock = 0;
  const rotation = createSamplingRotation(() => clock);
  const running = jobs(asked);
  for (const job of running)
    rotation.timed(job, () => {
      clock += 15;
    });
  expect(rotation.next(running).size).toBe(most);
});

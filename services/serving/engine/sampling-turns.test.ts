import { expect, test } from 'vitest';
import type { RunningJob } from './job.ts';
import { createSamplingTurns } from './sampling-turns.ts';

const jobs = (asked: object) =>
  [0, 1, 2].map((id) => ({ id, request: asked }) as unknown as Pick<RunningJob, 'id' | 'request'>);

test.each([
  ['an answer of a format', { format: { kind: 'json', param: 'x' } }, 1],
  ['a call of a tool that has to come', { forcedCall: ['f'], heldParameters: { f: { type: 'object' } } }, 1],
  ['an answer that can be anything', {}, 3],
])('%s, slow to choose: so many of three take part in a step', (_, asked, most) => {
  let clock = 0;
  const turns = createSamplingTurns(() => clock);
  const running = jobs(asked);
  for (const job of running)
    turns.timed(job, () => {
      clock += 15;
    });
  expect(turns.next(running).size).toBe(most);
});

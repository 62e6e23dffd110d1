import { expect, test } from 'vitest';
import { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { FeedbackGiven } from '../../shared/events/feedback-given.ts';
import { PolicyRejected } from '../../shared/events/policy-rejected.ts';
import { SampleDropped } from '../../shared/events/sample-dropped.ts';
import { TurnSkipped } from '../../shared/events/turn-skipped.ts';
import { VoteExpired } from '../../shared/events/vote-expired.ts';
import { createSessionTrail } from './session-trail.ts';

const origin = (id: string) => ({ id, source: 'clawloop/test', time: '2026-01-01T00:00:00Z' });

/** The same facts for two sessions in one lane. */
function story(session: string, turn: string, batch: string): readonly ClawLoopEvent[] {
  const adapter = 'default';
  const lane = 'lane';
  const rated = { interactionId: turn, lane, key: 'k', score: 1 };
  const skipped = { turnId: turn, lane, session, reason: 'side', by: turn } as TurnSkipped['data'];
  const submitted = { batchId: batch, adapter, samples: [{ sampleId: turn }] };
  const rejected = { batchId: batch, adapter, reason: 'not-finite', detail: '' } as const;
  return [
    FeedbackGiven.create({ ...origin(`${turn}/rated`), data: rated }),
    TurnSkipped.create({ ...origin(`${turn}/skipped`), data: skipped }),
    VoteExpired.create({ ...origin(`${turn}/expired`), data: { turnId: turn, lane } }),
    SampleDropped.create({
      ...origin(`${turn}/dropped`),
      data: { sampleId: turn, adapter, reason: 'stale' },
    }),
    BatchSubmitted.create({ ...origin(batch), data: submitted as unknown as BatchSubmitted['data'] }),
    PolicyRejected.create({ ...origin(`${batch}/rejected`), data: rejected }),
  ];
}

test('events that name a turn, a sample or a batch of the session belong to it', () => {
  const [mine, other] = [story('mine', 't1', 'b1'), story('other', 't2', 'b2')];
  const trail = createSessionTrail('mine');
  for (const event of [...mine, ...other]) trail.learn(event);
  expect(mine.filter(trail.has)).toEqual(mine);
  expect(other.filter(trail.has)).toEqual([]);
});

import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { FeedbackGiven } from '../../../shared/events/feedback-given.ts';
import { utcNow } from '../../../shared/service/clock.ts';
import { laneOfCompletion } from '../chat/answer-ids.ts';
import { ServingError } from '../errors.ts';
import { callerOf } from '../server.ts';
import { readBody } from './read-body.ts';
import type { ServingWorld } from './world.ts';

/**
 * A reward is on the scale of verdicts. One far beyond it would be the whole of a batch's gradient, and would
 * move the baseline that all later verdicts are measured against.
 */
const FeedbackBody = z
  .object({
    completion_id: z.string(),
    rating: z.enum(['up', 'down']).nullish(),
    reward: z.number().min(-1).max(1).nullish(),
    comment: z.string().max(20_000).nullish(),
  })
  .refine(({ rating, reward }) => (rating == null) !== (reward == null), {
    path: ['rating'],
    message: 'give either a rating (up or down) or a reward (a number)',
  });

/** What feedback does once it is recorded, for a program that reads the answer. */
const effects = {
  /** it is the verdict on the answer from now on, whatever was heard of it; the last one counts */
  verdict: 'verdict',
  /** it counts at the end of its session */
  reward: 'reward-of-session',
} as const;

/**
 * Takes a rating or a reward of an answer. The answer need not be known here: its fact may lie in an
 * outbox, or another replica gave it. Its id alone proves that this key was given it.
 */
export function registerFeedback(server: FastifyInstance, world: ServingWorld): void {
  server.post('/v1/feedback', async (request) => {
    const { completion_id: id, rating, reward, comment } = readBody(FeedbackBody, request.body);
    if (laneOfCompletion(id) === undefined) {
      throw ServingError.INVALID_REQUEST({
        param: 'completion_id',
        detail: 'completion_id is no id of this server.',
      });
    }
    const { keyId, sessionKey } = callerOf(request);
    const lane = world.ids.laneOf(id, keyId);
    const isOfAnotherSession =
      sessionKey !== undefined && (await world.sessions.speaking(sessionKey)).lane !== lane;
    if (lane === undefined || isOfAnotherSession)
      throw ServingError.FOREIGN_COMPLETION({ id, param: 'completion_id' });
    const score = reward ?? (rating === 'up' ? 1 : -1);
    const event = FeedbackGiven.create({
      id: `feedback-${randomUUID()}`,
      source: 'clawloop/serving',
      time: utcNow(),
      data: { interactionId: id, lane, key: keyId, score, ...(comment == null ? {} : { comment }) },
    });
    if (!(await world.recorder.record(event))) throw ServingError.NOT_RECORDED({ retryAfterSeconds: 5 });
    const effect = sessionKey === undefined ? effects.verdict : effects.reward;
    return { object: 'clawloop.feedback', completion_id: id, score, recorded: true, effect };
  });
}

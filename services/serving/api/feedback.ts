import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { FeedbackGiven } from '../../../shared/events/feedback-given.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { utcNow } from '../../../shared/runtime/clock.ts';
import { laneOfCompletion } from '../answer/answer-ids.ts';
import { ServingError } from '../errors.ts';
import { callerOf } from '../http/caller.ts';
import { readBody } from '../http/read-body.ts';
import type { ApiDeps } from './api-deps.ts';

/**
 * A reward is on the scale of verdicts. A much larger one would dominate the gradient of its batch, and shift the
 * baseline for all later verdicts.
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
    message: 'send either a rating (up or down) or a reward (a number)',
  });

/** The effect of recorded feedback, as reported to the client. */
const effects = {
  /** replaces the verdict on the answer; the last feedback counts */
  verdict: 'verdict',
  /** counts at the end of the session */
  reward: 'reward-of-session',
} as const;

/**
 * Accepts a rating or a reward of an answer. This process need not know the answer: its event may be in an outbox, or
 * another replica answered. The signature of the id proves that the answer belongs to this key.
 */
export function registerFeedback(server: FastifyInstance, deps: ApiDeps): void {
  server.post('/v1/feedback', async (request) => {
    const { completion_id: id, rating, reward, comment } = readBody(FeedbackBody, request.body);
    if (laneOfCompletion(id) === undefined) {
      throw ServingError.INVALID_REQUEST({
        param: 'completion_id',
        detail: 'completion_id is not an id of this server.',
      });
    }
    const { keyId, sessionKey } = callerOf(request);
    const lane = deps.ids.laneOf(id, keyId);
    const isOfAnotherSession =
      sessionKey !== undefined && (await deps.sessions.current(sessionKey)).lane !== lane;
    if (lane === undefined || isOfAnotherSession)
      throw ServingError.FOREIGN_COMPLETION({ id, param: 'completion_id' });
    const score = reward ?? (rating === 'up' ? 1 : -1);
    const event = FeedbackGiven.create({
      id: `feedback-${randomUUID()}`,
      source: 'clawloop/serving',
      time: utcNow(),
      data: {
        interactionId: id,
        lane,
        key: keyId,
        score,
        ...defined({ comment: comment == null ? undefined : comment }),
      },
    });
    if (!(await deps.recorder.record(event))) throw ServingError.NOT_RECORDED({ retryAfterSeconds: 5 });
    const effect = sessionKey === undefined ? effects.verdict : effects.reward;
    return { object: 'clawloop.feedback', completion_id: id, score, recorded: true, effect };
  });
}

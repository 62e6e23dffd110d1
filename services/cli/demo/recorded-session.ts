import { z } from 'zod';
import { type Answer, mapAnswer, request } from '../rl-client.ts';
import type { LifecycleWorld } from './lifecycle.ts';

const Sessions = z.looseObject({
  data: z.array(
    z.looseObject({
      session_id: z.string(),
      state: z.string(),
      interaction_count: z.int(),
      rewards: z.array(z.looseObject({ interaction_id: z.string(), reward: z.number() })),
    }),
  ),
});

/** What the server has recorded of a session, in one line. */
export const recordedSession = async (
  { url, accessKey, signal }: LifecycleWorld,
  session: string,
): Promise<Answer<string>> =>
  mapAnswer(await request(`${url}/rl/sessions`, accessKey, undefined, signal), Sessions, ({ data }) => {
    const found = data.find(({ session_id }) => session_id === session);
    if (found === undefined) return `${session} is not among ${data.length} sessions`;
    const rewards = found.rewards.map(({ reward }) => reward).join(', ');
    return `${found.state}, ${found.interaction_count} answers, rewards ${rewards}`;
  });

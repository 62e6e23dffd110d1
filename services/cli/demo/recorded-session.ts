import { z } from 'zod';
import { type Answer, mapAnswer, request } from '../../../clients/api-client.ts';

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

type Server = {
  readonly url: string;
  readonly accessKey: string | undefined;
  readonly signal: AbortSignal;
};

/** What the server has recorded about a session, in one line. */
export const recordedSession = async (
  { url, accessKey, signal }: Server,
  session: string,
): Promise<Answer<string>> =>
  mapAnswer(await request(`${url}/rl/sessions`, accessKey, undefined, signal), Sessions, ({ data }) => {
    const recorded = data.find(({ session_id }) => session_id === session);
    if (recorded === undefined) return `${session} is not one of the ${data.length} sessions`;
    const rewards = recorded.rewards.map(({ reward }) => reward).join(', ');
    return `${recorded.state}, ${recorded.interaction_count} answers, rewards ${rewards}`;
  });

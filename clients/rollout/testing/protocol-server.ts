import type { Answer, EndedSession, Reward, SessionClient, SessionStep } from '../../api-client.ts';
import type { LeaseClient, LeaseFact } from '../../lease-client.ts';

export type KnownSession = {
  readonly task: string;
  /** what was set, in order */
  readonly rewards: Reward[];
  /** how often its steps were asked for */
  asked: number;
  ended: 'rewarded' | 'discarded' | 'unrewarded' | undefined;
};

/** The session protocol in memory: `room` sessions at once, and an answer in each that a reward can go to. */
export function createProtocolDouble({
  room = 1000,
  silentInteractions = [] as readonly string[],
  guarded = undefined as EndedSession['guarded'],
  stepsOf = (_session: KnownSession, _asked: number): readonly SessionStep[] => [],
} = {}) {
  const sessions = new Map<string, KnownSession>();
  const open = () => [...sessions.values()].filter(({ ended }) => ended === undefined).length;
  let mostOpen = 0;
  const refused = (status: number, code: string): Answer<never> => ({
    kind: 'refused',
    status,
    code,
    message: code,
    retryAfter: status === 429 ? 0.005 : undefined,
  });
  const client: Omit<SessionClient, 'endNamed' | 'list'> = {
    start: async (task = 'task') => {
      if (open() >= room) return refused(429, 'no_room');
      const key = `sk-sess-${sessions.size}`;
      sessions.set(key, { task, rewards: [], asked: 0, ended: undefined });
      mostOpen = Math.max(mostOpen, open());
      return { kind: 'answer', value: { session: `${task}-${sessions.size}`, key } };
    },
    reward: async (key, reward) => {
      const session = sessions.get(key)!;
      if (session.ended !== undefined) return refused(410, 'session_ended');
      if (silentInteractions.includes(session.task)) return refused(400, 'nothing_to_reward');
      session.rewards.push(reward);
      return { kind: 'answer', value: `chatcmpl-${key}` };
    },
    steps: async (key) => {
      const session = sessions.get(key)!;
      if (session.ended !== undefined) return refused(410, 'session_ended');
      session.asked += 1;
      return { kind: 'answer', value: stepsOf(session, session.asked) };
    },
    end: async (key, { discard } = {}) => {
      const session = sessions.get(key)!;
      session.ended ??= discard ? 'discarded' : session.rewards.length > 0 ? 'rewarded' : 'unrewarded';
      return { kind: 'answer', value: { answers: 1, guarded } };
    },
  };
  const facts: (LeaseFact & { readonly session: string })[] = [];
  const leases: Pick<LeaseClient, 'say'> = {
    say: async (session, fact) => {
      facts.push({ session, ...fact });
      return { kind: 'answer', value: fact.what === 'evaluated' ? (fact.reward ?? undefined) : undefined };
    },
  };
  return { client, leases, facts, sessions, mostOpen: () => mostOpen };
}

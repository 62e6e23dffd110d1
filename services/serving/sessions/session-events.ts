import { randomBytes } from 'node:crypto';
import { FeedbackGiven } from '../../../shared/events/feedback-given.ts';
import { SessionEnded } from '../../../shared/events/session-ended.ts';
import { SessionStarted } from '../../../shared/events/session-started.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { laneOf } from './lane.ts';
import type { Session } from './session-row.ts';

const source = 'clawloop/serving';

/** The options that the client of a session requested. */
export type SessionTerms = Partial<Pick<SessionStarted['data'], 'process' | 'weigh'>>;

/** A session to start. */
type NewSession = {
  readonly keyId: string;
  readonly sessionKey: string;
  readonly adapter: string;
  readonly task: string;
  readonly terms: SessionTerms;
};

/** @param time ms since 1970 */
export function sessionStarted(
  { keyId, sessionKey, adapter, task, terms }: NewSession,
  time: number,
): SessionStarted {
  const session = `${task}-${randomBytes(8).toString('hex')}`;
  return SessionStarted.create({
    id: `${session}/started`,
    source,
    time: new Date(time).toISOString(),
    data: {
      lane: laneOf(keyId, session),
      key: keyId,
      session,
      adapter,
      settle: 'reward' as const,
      sessionKey,
      task,
      ...terms,
    },
  });
}

type RewardData = {
  readonly score: number;
  readonly interactionId: string;
  readonly advantage?: number;
  readonly last?: true;
} & Pick<FeedbackGiven['data'], 'steps'>;

const feedbackOf = (
  { session, lane, keyId }: Session,
  name: string,
  data: RewardData,
  time: number,
): FeedbackGiven =>
  FeedbackGiven.create({
    id: `${session}/${name}`,
    source,
    time: new Date(time).toISOString(),
    data: { ...data, lane, key: keyId },
  });

/** The reward of an answer. */
export const rewardGiven = (session: Session, data: RewardData, time: number): FeedbackGiven =>
  feedbackOf(session, `reward/${randomBytes(8).toString('hex')}`, data, time);

/** The reward 0 of a session that ends without one. The id is the same at every attempt. */
export const noReward = (session: Session, interactionId: string, time: number): FeedbackGiven =>
  feedbackOf(session, 'reward/none', { score: 0, interactionId, last: true }, time);

/** The end of a session. The id is the same at every attempt. */
export const sessionEnded = (
  { session, lane, keyId, interactions }: Session,
  discard: boolean,
  time: number,
): SessionEnded =>
  SessionEnded.create({
    id: `${session}/ended`,
    source,
    time: new Date(time).toISOString(),
    data: {
      lane,
      key: keyId,
      session,
      reason: 'explicit' as const,
      interactions,
      ...defined({ discard: discard ? discard : undefined }),
    },
  });

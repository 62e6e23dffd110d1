import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { HintCast } from '../../../shared/events/hint-cast.ts';
import { SessionClosed } from '../../../shared/events/session-closed.ts';
import { TurnCompleted } from '../../../shared/events/turn-completed.ts';
import { TurnFeedback } from '../../../shared/events/turn-feedback.ts';
import { TurnWithdrawn } from '../../../shared/events/turn-withdrawn.ts';
import { VoteCast } from '../../../shared/events/vote-cast.ts';
import { VoteExpired } from '../../../shared/events/vote-expired.ts';
import { VoteFailed } from '../../../shared/events/vote-failed.ts';
import { defined } from '../../../shared/lang/defined.ts';
import type { Vote } from '../judge-rows.ts';

/** Events of one lane as a test writes them. */
const lane = 'lane-1';
const at = (id: string) => ({ id, source: 'clawloop/test', time: '2026-01-02T03:04:05.000Z' });

export const user = (content: string): ChatMessage => ({ role: 'user', content });
export const assistant = (content: string): ChatMessage => ({ role: 'assistant', content });
export const tool = (content: string): ChatMessage => ({ role: 'tool', content, tool_call_id: 'call-1' });

type TurnOptions = Partial<
  Pick<
    TurnCompleted['data'],
    'settle' | 'session' | 'epoch' | 'messages' | 'answer' | 'next' | 'key' | 'lane'
  >
>;

export function turnCompleted(
  turnId: string,
  options: TurnOptions = {},
  more: Partial<TurnCompleted['data']> = {},
): TurnCompleted {
  return TurnCompleted.create({
    ...at(`${turnId}/completed`),
    data: {
      turnId,
      lane,
      key: 'key-1',
      session: 's',
      epoch: 'e',
      adapter: 'default',
      version: 0,
      settle: 'votes',
      rule: 'conversation',
      sessionBy: 'history',
      messages: [user('How long do I boil an egg?')],
      answer: assistant('Hello! Here is a list: - six minutes for soft - ten minutes for hard'),
      tokens: {
        promptIds: [1],
        responseIds: [2],
        logProbs: [-0.1],
        effectiveTemperature: 1,
        greedy: false,
        filters: { topP: 1, topK: 0 },
      },
      next: [user('Perfect, thanks!')],
      from: 'next',
      by: 'next',
      ...options,
      ...more,
    },
  });
}

export const voteCast = (turnId: string, index: number, vote: Vote, hint?: string): VoteCast =>
  VoteCast.create({
    ...at(`${turnId}/vote/${index}`),
    data: {
      turnId,
      lane,
      index,
      vote,
      text: '',
      judge: 'test',
      cost: { promptTokens: 0, completionTokens: 0, milliseconds: 0 },
      ...defined({ hint }),
    },
  });

export const hintCast = (turnId: string, index: number, hint?: string): HintCast =>
  HintCast.create({
    ...at(`${turnId}/hint/${index}`),
    data: {
      turnId,
      lane,
      index,
      decision: hint === undefined ? -1 : 1,
      text: '',
      judge: 'test',
      cost: { promptTokens: 0, completionTokens: 0, milliseconds: 0 },
      ...defined({ hint }),
    },
  });

export const turnFeedback = (
  turnId: string,
  score: number,
  given: string,
  comment?: string,
  advantage?: number,
): TurnFeedback =>
  TurnFeedback.create({
    ...at(`${given}/feedback`),
    data: {
      turnId,
      lane,
      score,
      given,
      ...defined({ comment: comment === '' ? undefined : comment, advantage }),
    },
  });

export const voteExpired = (turnId: string): VoteExpired =>
  VoteExpired.create({ ...at(`${turnId}/expired`), data: { turnId, lane } });

export const voteFailed = (turnId: string, nth: number): VoteFailed =>
  VoteFailed.create({
    ...at(`${turnId}/failed/${nth}`),
    data: { turnId, lane, index: 0, reason: 'time-limit' },
  });

export const turnWithdrawn = (turnId: string): TurnWithdrawn =>
  TurnWithdrawn.create({
    ...at(`${turnId}/withdrawn`),
    data: { turnId, lane, adapter: 'default', reason: 'deleted', by: `${turnId}/deleted` },
  });

export const sessionClosed = (session = 's', epoch = 'e', key = 'key-1'): ClawLoopEvent =>
  SessionClosed.create({
    ...at(`${session}@${epoch}/closed`),
    data: { lane, key, session, epoch, by: 'end' },
  });

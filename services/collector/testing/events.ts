import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { FeedbackGiven } from '../../../shared/events/feedback-given.ts';
import { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import { InteractionWithdrawn } from '../../../shared/events/interaction-withdrawn.ts';
import { JudgmentReached } from '../../../shared/events/judgment-reached.ts';
import { ResponseDeleted } from '../../../shared/events/response-deleted.ts';
import { SampleReady } from '../../../shared/events/sample-ready.ts';
import { SampleWithdrawn } from '../../../shared/events/sample-withdrawn.ts';
import { SessionClosed } from '../../../shared/events/session-closed.ts';
import { SessionEnded } from '../../../shared/events/session-ended.ts';
import { TurnCompleted } from '../../../shared/events/turn-completed.ts';
import { TurnWithdrawn } from '../../../shared/events/turn-withdrawn.ts';
import { VerdictRecorded } from '../../../shared/events/verdict-recorded.ts';
import { defined } from '../../../shared/lang/defined.ts';

/** A time some minutes after a fixed moment, so that lists of events need no times. */
export const timeAt = (minutes: number) => new Date(Date.UTC(2026, 0, 1) + minutes * 60_000).toISOString();

export const system = (content: string): ChatMessage => ({ role: 'system', content });
export const user = (content: string): ChatMessage => ({ role: 'user', content });
export const assistant = (content: string): ChatMessage => ({ role: 'assistant', content });
export const toolResult = (content: string): ChatMessage => ({
  role: 'tool',
  content,
  tool_call_id: 'call_1',
});
export const callsTool = (name: string, args = '{}'): ChatMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'call_1', type: 'function', function: { name, arguments: args } }],
});

const tokens = {
  promptIds: [1, 2],
  responseIds: [3, 4],
  logProbs: [-0.5, -0.25],
  effectiveTemperature: 1,
  greedy: false,
  filters: { topP: 1, topK: 0 },
};

const source = 'clawloop/test';
type Given = { readonly id: string; readonly at?: number; readonly lane?: string; readonly key?: string };

export type InteractionGiven = Given & {
  readonly messages: readonly ChatMessage[];
  readonly answer: string | ChatMessage;
  readonly traceparent?: string;
  readonly time?: string;
} & Partial<Omit<InteractionCompleted['data'], 'messages' | 'answer' | 'key' | 'lane'>>;

export function interaction(given: InteractionGiven): InteractionCompleted {
  const { id, at = 0, lane = 'lane', key = 'key', messages, answer, traceparent, ...rest } = given;
  const { time = timeAt(at), ...more } = rest;
  return InteractionCompleted.create({
    id,
    source,
    time,
    traceparent,
    data: {
      interactionId: id,
      requestId: `request-${id}`,
      api: 'chat',
      lane,
      key,
      adapter: 'default',
      live: true,
      settle: 'votes',
      model: 'clawloop',
      sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 64 },
      tokens,
      version: 0,
      engine: 'local',
      finishReason: 'stop',
      disconnected: false,
      timing: { startedAt: timeAt(at), firstTokenMs: 1, totalMs: 2 },
      usage: { promptTokens: 2, completionTokens: 2 },
      ...more,
      messages,
      answer: typeof answer === 'string' ? assistant(answer) : answer,
    },
  });
}

export const feedback = (
  { id, at = 0, lane = 'lane', key = 'key' }: Given,
  interactionId: string,
  score: number,
  more: Pick<FeedbackGiven['data'], 'advantage' | 'comment' | 'last'> = {},
) =>
  FeedbackGiven.create({ id, source, time: timeAt(at), data: { interactionId, lane, key, score, ...more } });

export const responseDeleted = (
  { id, at = 0, lane = 'lane', key = 'key' }: Given,
  interactionId: string,
  adapter?: string,
) =>
  ResponseDeleted.create({
    id,
    source,
    time: timeAt(at),
    data: { interactionId, lane, key, ...defined({ adapter }) },
  });

export const interactionWithdrawn = (
  { id, at = 0, lane = 'lane', key = 'key' }: Given,
  interactionId: string,
) =>
  InteractionWithdrawn.create({
    id,
    source,
    time: timeAt(at),
    data: { interactionId, lane, key, adapter: 'default' },
  });

export const sessionEnded = (
  { id, at = 0, lane = 'lane', key = 'key' }: Given,
  session: string,
  more: { readonly epoch: string; readonly last: string } | { readonly discard?: boolean } = {},
): ClawLoopEvent =>
  SessionEnded.create({
    id,
    source,
    time: timeAt(at),
    data: { lane, key, session, reason: 'last' in more ? 'idle' : 'explicit', ...more },
  });

export const turnCompleted = (
  id: string,
  session = 's',
  lane = 'lane',
  settle: TurnCompleted['data']['settle'] = 'votes',
) =>
  TurnCompleted.create({
    id: `${id}/completed`,
    source,
    time: timeAt(0),
    data: {
      turnId: id,
      lane,
      key: 'key',
      session,
      epoch: 'e',
      adapter: 'default',
      version: 0,
      settle,
      rule: 'conversation',
      sessionBy: 'new',
      messages: [user(id)],
      answer: assistant('a'),
      tokens,
      next: [user('next')],
      from: 'i',
      by: 'i',
    },
  });

export const judgment = (id: string, score: number | null, more: Partial<JudgmentReached['data']> = {}) =>
  JudgmentReached.create({
    id: `${id}/judgment`,
    source,
    time: timeAt(0),
    data: {
      turnId: id,
      lane: 'lane',
      score,
      mean: score ?? 0,
      votes: [],
      needs: 3,
      hints: [],
      by: 'b',
      source: score === null ? 'unavailable' : 'votes',
      ...more,
    },
  });

export const sessionClosed = (session = 's', more: { readonly discard?: true } = {}) =>
  SessionClosed.create({
    id: `${session}@e/closed`,
    source,
    time: timeAt(0),
    data: { lane: 'lane', key: 'key', session, epoch: 'e', by: 'b', ...more },
  });

export const turnWithdrawn = (turnId: string, more: Partial<TurnWithdrawn['data']> = {}) =>
  TurnWithdrawn.create({
    id: `${turnId}/withdrawn`,
    source,
    time: timeAt(0),
    data: { turnId, lane: 'lane', adapter: 'default', reason: 'deleted', by: 'd', ...more },
  });

export const sampleWithdrawn = (sampleId: string) =>
  SampleWithdrawn.create({
    id: `${sampleId}/withdrawn`,
    source,
    time: timeAt(0),
    data: { sampleId, adapter: 'default', reason: 'deleted' },
  });

export const sampleReady = (
  id: string,
  session = 's',
  version = 0,
  more: Partial<SampleReady['data']> = {},
) =>
  SampleReady.create({
    id: `${id}/ready`,
    source,
    time: timeAt(0),
    data: {
      sampleId: id,
      adapter: 'default',
      lane: 'lane',
      session,
      epoch: 'e',
      version,
      verdict: 1,
      source: 'votes',
      soft: false,
      hints: [],
      messages: [],
      tokens,
      ...more,
    },
  });

export const verdictRecorded = (
  turnId: string,
  version: number,
  score: number,
  more: Partial<VerdictRecorded['data']> = {},
) =>
  VerdictRecorded.create({
    id: `${turnId}/verdict`,
    source,
    time: timeAt(0),
    data: { turnId, adapter: 'default', version, key: 'key', score, source: 'votes', wishes: [], ...more },
  });

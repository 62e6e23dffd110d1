import { BatchRequested } from '../../../shared/events/batch-requested.ts';
import { BatchReturned } from '../../../shared/events/batch-returned.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { FeedbackGiven } from '../../../shared/events/feedback-given.ts';
import { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import { LearningPaused } from '../../../shared/events/learning-paused.ts';
import { LearningResumed } from '../../../shared/events/learning-resumed.ts';
import { PolicyCanaryStarted } from '../../../shared/events/policy-canary-started.ts';
import { PolicyLoaded } from '../../../shared/events/policy-loaded.ts';
import { PolicyPromoted } from '../../../shared/events/policy-promoted.ts';
import { PolicyRejected } from '../../../shared/events/policy-rejected.ts';
import { PolicyRolledBack } from '../../../shared/events/policy-rolled-back.ts';
import { PolicyTrained } from '../../../shared/events/policy-trained.ts';
import { PolicyUpdateFailed } from '../../../shared/events/policy-update-failed.ts';
import { ResponseDeleted } from '../../../shared/events/response-deleted.ts';
import type { SampleReady } from '../../../shared/events/sample-ready.ts';
import { SessionEnded } from '../../../shared/events/session-ended.ts';
import { VoteCast } from '../../../shared/events/vote-cast.ts';
import { VoteExpired } from '../../../shared/events/vote-expired.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { batchDigest, sampleDigest, samplesDigest } from '../../../shared/lineage/batch-digest.ts';
import type { OpenBatch } from '../../../shared/lineage/head.ts';

/** A day of event time is 400 ticks. */
const TICK_MS = 216_000;
export const timeOf = (tick: number) => new Date(Date.UTC(2026, 0, 1) + tick * TICK_MS).toISOString();

type Said = { readonly id: string; readonly tick: number };
const said = ({ id, tick }: Said) => ({ id, source: 'clawloop/test', time: timeOf(tick) });

/**
 * A history's messages are words like u3 (user), t1 (tool result), a2 (answer), c4 (tool call), h0 (heartbeat), s4
 * (summary).
 */
export function message(word: string): ChatMessage {
  switch (word[0]) {
    case 'a':
      return { role: 'assistant', content: word };
    case 'c': {
      const called = { name: word, arguments: '{}' };
      return {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call', type: 'function', function: called }],
      };
    }
    case 't':
      return { role: 'tool', content: word, tool_call_id: 'call' };
    case 'h':
      return { role: 'user', content: `[OpenClaw heartbeat poll] ${word}` };
    case 's':
      return { role: 'user', content: `The conversation history before this point was compacted: ${word}` };
    default:
      return { role: 'user', content: word };
  }
}

export type Answered = Said & {
  readonly key: string;
  readonly lane: string;
  readonly session: string | undefined;
  readonly adapter: string;
  readonly words: readonly string[];
  readonly answer: string;
  readonly version: number;
  readonly live: boolean;
  readonly side: boolean;
  readonly aborted: boolean;
  readonly settle: 'votes' | 'reward';
};

/** Its tokens are its own: what trains can be traced to it. */
export const tokensOf = (id: string) => ({
  promptIds: [1],
  responseIds: [Number(id.slice(1)), 2],
  logProbs: [-0.5, -0.25],
  effectiveTemperature: 1,
  greedy: false,
  filters: { topP: 1, topK: 0 },
});

export const interactionCompleted = (one: Answered) =>
  InteractionCompleted.create({
    ...said(one),
    data: {
      interactionId: one.id,
      requestId: one.id,
      api: 'chat',
      lane: one.lane,
      key: one.key,
      adapter: one.adapter,
      live: one.live,
      settle: one.settle,
      model: 'clawloop',
      ...defined({ session: one.session, turnType: one.side ? ('side' as const) : undefined }),
      messages: one.words.map(message),
      answer: message(one.answer),
      sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 8 },
      tokens: tokensOf(one.id),
      version: one.version,
      engine: 'local',
      disconnected: one.aborted,
      finishReason: one.aborted ? 'aborted' : 'stop',
      timing: { startedAt: timeOf(one.tick), firstTokenMs: 1, totalMs: 1 },
      usage: { promptTokens: 1, completionTokens: 2 },
    },
  });

export const feedbackGiven = (one: Said, data: FeedbackGiven['data']) =>
  FeedbackGiven.create({ ...said(one), data });
export const responseDeleted = (one: Said, data: ResponseDeleted['data']) =>
  ResponseDeleted.create({ ...said(one), data });
export const sessionEnded = (one: Said, data: SessionEnded['data']) =>
  SessionEnded.create({ ...said(one), data });
export const voteExpired = (one: Said, data: VoteExpired['data']) =>
  VoteExpired.create({ ...said(one), data });
export const voteCast = (one: Said, data: Pick<VoteCast['data'], 'turnId' | 'lane' | 'index' | 'vote'>) =>
  VoteCast.create({
    ...said(one),
    data: {
      ...data,
      text: '',
      judge: 'test',
      cost: { promptTokens: 0, completionTokens: 0, milliseconds: 0 },
    },
  });

export const batchRequested = (one: Said, adapter: string, after: number) =>
  BatchRequested.create({ ...said(one), data: { adapter, after, reason: 'operator' } });
export const batchReturned = (one: Said, batch: OpenBatch, samples: OpenBatch['samples']) => {
  const { parent: _, again: __, ...data } = batch;
  return BatchReturned.create({
    ...said(one),
    data: { ...data, samples, without: batch.samples.length - samples.length },
  });
};
export const learningPaused = (one: Said, adapter: string) =>
  LearningPaused.create({ ...said(one), data: { adapter } });
export const learningResumed = (one: Said, adapter: string) =>
  LearningResumed.create({ ...said(one), data: { adapter } });
export const policyRolledBack = (one: Said, adapter: string, from: number, to: number) =>
  PolicyRolledBack.create({ ...said(one), data: { adapter, from, to } });
export const policyLoaded = (one: Said, adapter: string, version: number, replica: string) =>
  PolicyLoaded.create({ ...said(one), data: { adapter, version, replica, milliseconds: 1 } });

/** A batch's facts, with the ids that every trainer gives them. */
export const trained = (tick: number, batch: OpenBatch, samples: readonly SampleReady['data'][]) =>
  PolicyTrained.create({
    ...said({ id: `${batch.batchId}/trained`, tick }),
    data: {
      batchId: batch.batchId,
      adapter: batch.adapter,
      version: batch.n,
      parent: batch.parent,
      checkpoint: `c${batch.n}`,
      digest: `d${batch.n}`,
      batchDigest: batchDigest(batch),
      samplesDigest: samplesDigest(samples.map(sampleDigest)),
      metrics: {},
      fingerprint: 'test',
      milliseconds: 1,
    },
  });
export const promoted = (tick: number, { batchId, adapter, n, parent }: OpenBatch) =>
  PolicyPromoted.create({
    ...said({ id: `${batchId}/promoted`, tick }),
    data: { batchId, adapter, from: parent, to: n, checkpoint: `c${n}`, digest: `d${n}` },
  });
export const canaryStarted = (tick: number, { batchId, adapter, n, parent, settings }: OpenBatch) =>
  PolicyCanaryStarted.create({
    ...said({ id: `${batchId}/canary`, tick }),
    data: {
      batchId,
      adapter,
      from: parent,
      to: n,
      checkpoint: `c${n}`,
      digest: `d${n}`,
      share: settings.canaryShare!,
    },
  });
export const rejected = (tick: number, { batchId, adapter }: OpenBatch) =>
  PolicyRejected.create({
    ...said({ id: `${batchId}/rejected`, tick }),
    data: { batchId, adapter, reason: 'kl-to-parent', detail: '' },
  });
export const updateFailed = (tick: number, { batchId, adapter }: OpenBatch) =>
  PolicyUpdateFailed.create({
    ...said({ id: `${batchId}/update-failed`, tick }),
    data: { batchId, adapter, reason: 'strikes', detail: '' },
  });

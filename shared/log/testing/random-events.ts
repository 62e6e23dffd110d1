import { createHash } from 'node:crypto';
import { BatchSubmitted } from '../../events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../events/catalogue.ts';
import type { ChatMessage } from '../../events/chat-message.ts';
import type { NewEvent } from '../../events/define-event.ts';
import { EnvironmentActed } from '../../events/environment-acted.ts';
import { EnvironmentLeased } from '../../events/environment-leased.ts';
import { EnvironmentReleased } from '../../events/environment-released.ts';
import { FeedbackGiven } from '../../events/feedback-given.ts';
import { InteractionCompleted } from '../../events/interaction-completed.ts';
import { PolicyCanaryStarted } from '../../events/policy-canary-started.ts';
import { PolicyPromoted } from '../../events/policy-promoted.ts';
import { PolicyRejected } from '../../events/policy-rejected.ts';
import { PolicyRolledBack } from '../../events/policy-rolled-back.ts';
import { ResponseDeleted } from '../../events/response-deleted.ts';
import { SampleDropped } from '../../events/sample-dropped.ts';
import { SampleReady } from '../../events/sample-ready.ts';
import { SessionClosed } from '../../events/session-closed.ts';
import { SessionEnded } from '../../events/session-ended.ts';
import { SessionOpened } from '../../events/session-opened.ts';
import { SessionStarted } from '../../events/session-started.ts';
import { defaultTrainingSettings } from '../../policy/train/training-defaults.ts';

const { settings } = defaultTrainingSettings('claw-nano');
const tokens = {
  promptIds: [1, 2],
  responseIds: [3, 4],
  logProbs: [-0.5, -0.25],
  allowed: [{ at: 0, ids: [3, 4] }],
  effectiveTemperature: 1,
  greedy: false,
  filters: { topP: 1, topK: 0 },
};

/** What a random event is made from. */
type Draw = {
  readonly n: number;
  /** in [0, most) */
  readonly below: (most: number) => number;
  readonly about: (id: string, data: object) => NewEvent<never>;
  readonly place: { readonly lane: string; readonly key: string; readonly session: string };
  readonly adapter: string;
  readonly messages: readonly ChatMessage[];
  /** of the adapter `default`; a maker may move them */
  readonly lineage: { batch: number; head: number };
};
type Maker = (draw: Draw) => ClawLoopEvent;

const inConversations: readonly Maker[] = [
  ({ about, place, below }) =>
    SessionStarted.create(
      about(`${place.session}/started`, {
        ...place,
        settle: 'reward',
        sessionKey: `k-${below(5)}`,
        task: 't',
      }),
    ),
  ({ n, about, place: { lane, key }, adapter, messages, lineage }) =>
    InteractionCompleted.create(
      about(`i-${n}`, {
        ...{
          interactionId: `i-${n}`,
          requestId: 'r',
          api: 'chat',
          lane,
          key,
          adapter,
          version: lineage.head,
        },
        ...{ live: true, settle: 'reward', model: 'm', engine: 'local', disconnected: false },
        ...{ messages, answer: { role: 'assistant', content: 'hello' }, tokens, finishReason: 'stop' },
        sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 5 },
        timing: { startedAt: '2026-01-01T00:00:00Z', firstTokenMs: 1, totalMs: 1 },
        usage: { promptTokens: 1, completionTokens: 1 },
      }),
    ),
  ({ n, about, place: { lane, key }, below }) =>
    FeedbackGiven.create(
      about(`f-${n}`, { interactionId: `i-${below(n + 1)}`, lane, key, score: below(3) - 1 }),
    ),
  ({ n, about, place, below }) =>
    SessionEnded.create(
      about(`${place.session}/ended/${n}`, {
        ...{ ...place, reason: 'explicit' },
        ...(below(2) === 0 ? { discard: true } : {}),
      }),
    ),
  ({ n, about, place: { lane, key } }) =>
    ResponseDeleted.create(about(`i-${n}/deleted`, { interactionId: `resp_${n}`, lane, key })),
  ({ about, place }) =>
    EnvironmentLeased.create(
      about(`${place.session}/environment/leased`, {
        ...{ ...place, environment: 'e', task: 't', taskDigest: 'd', attempt: 0, host: 'h' },
        expiresAt: '2100-01-01T00:00:00Z',
      }),
    ),
  ({ n, about, place }) =>
    EnvironmentActed.create(
      about(`${place.session}/environment/acted/${n}`, {
        ...{ ...place, call: `c-${n}`, name: 'say', argumentsDigest: 'd', observationDigest: 'd' },
        ...{ bytes: 1, isError: false, isDone: false, ms: 1 },
      }),
    ),
  ({ about, place }) =>
    EnvironmentReleased.create(about(`${place.session}/environment/released`, { ...place, by: 'client' })),
];

const inTurns: readonly Maker[] = [
  ({ n, about, place, below }) =>
    SessionOpened.create(about(`${place.session}/opened/${n}`, { ...place, epoch: `e-${below(3)}` })),
  ({ n, about, place, below }) =>
    SessionClosed.create(
      about(`${place.session}/closed/${n}`, { ...place, epoch: `e-${below(3)}`, by: 'x' }),
    ),
];

const inTraining: readonly Maker[] = [
  ({ n, about, place, adapter, messages, lineage, below }) =>
    SampleReady.create(
      about(`i-${n}/ready`, {
        ...{ sampleId: `i-${n}`, adapter, ...place, epoch: 'e', version: lineage.head, verdict: 1 },
        ...{ source: 'reward', soft: false, hints: [], messages, tokens },
        ...(below(2) === 0 ? { following: below(3) } : {}),
      }),
    ),
  ({ n, about, adapter, below }) =>
    SampleDropped.create(
      about(`i-${n}/dropped`, { sampleId: `i-${below(n + 1)}`, adapter, reason: 'stale' }),
    ),
  ({ n, about, lineage, below }) => {
    lineage.batch += 1;
    const { batch, head } = lineage;
    const at = { partition: 0, offset: 0 };
    const samples = [below(n + 1), below(n + 1)].map((index) => ({ sampleId: `i-${index}`, at }));
    return BatchSubmitted.create(
      about(`b-${batch}`, {
        ...{ batchId: `b-${batch}`, adapter: 'default', n: batch, parent: head, size: 2, maxStaleness: 4 },
        ...{ samples, settings, seed: 1 },
      }),
    );
  },
  ({ about, lineage: { batch, head } }) =>
    PolicyCanaryStarted.create(
      about(`b-${batch}/canary`, {
        ...{ batchId: `b-${batch}`, adapter: 'default', from: head, to: batch, checkpoint: 'c', digest: 'd' },
        ...{ share: 0.1, evidence: 20 },
      }),
    ),
  ({ n, about, lineage }) => {
    const { batch, head: from } = lineage;
    lineage.head = batch;
    return PolicyPromoted.create(
      about(`b-${batch}/promoted`, {
        ...{ batchId: `b-${batch}`, adapter: 'default', from, to: batch, checkpoint: `c-${n}`, digest: 'd' },
      }),
    );
  },
  ({ about, lineage: { batch } }) =>
    PolicyRejected.create(
      about(`b-${batch}/rejected`, {
        ...{ batchId: `b-${batch}`, adapter: 'default', reason: 'gate', detail: '', metrics: {} },
      }),
    ),
  ({ n, about, lineage: { head }, below }) =>
    PolicyRolledBack.create(about(`r-${n}`, { adapter: 'default', from: head, to: below(head + 1) })),
];

const makers: readonly Maker[] = [...inConversations, ...inTurns, ...inTraining];

/** Events that views read, in a random order, with copies; the same for a seed. `now`: ms since 1970 of the last one. */
export function randomEvents(seed: number, count: number, now = Date.now()): readonly ClawLoopEvent[] {
  let drawn = 0;
  const below = (most: number): number =>
    createHash('sha256').update(`${seed}/${drawn++}`).digest().readUInt32LE() % most;
  const lineage = { batch: 0, head: 0 };
  const made: ClawLoopEvent[] = [];
  for (let n = 0; n < count; n++) {
    if (n > 0 && below(20) === 0) {
      made.push(made[below(n)]!);
      continue;
    }
    const who = below(12);
    const time = new Date(now - (count - n) * 1_000).toISOString();
    made.push(
      makers[below(makers.length)]!({
        n,
        below,
        about: (id, data) => ({ id, source: 'clawloop/test', time, data: data as never }),
        place: { lane: who.toString(16).padStart(12, '0'), key: `key-${who % 3}`, session: `s-${who}` },
        adapter: below(4) === 0 ? 'other' : 'default',
        messages: [{ role: 'user', content: `question ${below(5)}` }],
        lineage,
      }),
    );
  }
  return made;
}

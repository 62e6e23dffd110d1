import { createHash } from 'node:crypto';
import { BatchSubmitted } from '../../events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../events/catalogue.ts';
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

/** Events of all kinds that serving's views read, in a random order that a log could have; the same for a seed. */
export function randomEvents(seed: number, count: number, now = Date.now()): readonly ClawLoopEvent[] {
  let drawn = 0;
  const below = (most: number): number =>
    createHash('sha256').update(`${seed}/${drawn++}`).digest().readUInt32LE() % most;
  const made: ClawLoopEvent[] = [];
  let batch = 0;
  let head = 0;
  const one = (n: number): ClawLoopEvent => {
    const about = (id: string, data: object) => ({
      id,
      source: 'clawloop/test',
      time: new Date(now - (count - n) * 1_000).toISOString(),
      data: data as never,
    });
    const who = below(12);
    const session = `s-${who}`;
    const lane = who.toString(16).padStart(12, '0');
    const key = `key-${who % 3}`;
    const place = { lane, key, session };
    const adapter = below(4) === 0 ? 'other' : 'default';
    const messages = [{ role: 'user', content: `question ${below(5)}` }];
    const answer = { role: 'assistant', content: 'hello' };
    const made: readonly (() => ClawLoopEvent)[] = [
      () =>
        SessionStarted.create(
          about(`${session}/started`, { ...place, settle: 'reward', sessionKey: `k-${who % 5}`, task: 't' }),
        ),
      () =>
        InteractionCompleted.create(
          about(`i-${n}`, {
            ...{ interactionId: `i-${n}`, requestId: 'r', api: 'chat', lane, key, adapter, version: head },
            ...{ live: true, settle: 'reward', model: 'm', engine: 'local', disconnected: false },
            ...{ messages, answer, tokens, finishReason: 'stop' },
            sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 5 },
            timing: { startedAt: '2026-01-01T00:00:00Z', firstTokenMs: 1, totalMs: 1 },
            usage: { promptTokens: 1, completionTokens: 1 },
          }),
        ),
      () =>
        FeedbackGiven.create(
          about(`f-${n}`, { interactionId: `i-${below(n + 1)}`, lane, key, score: below(3) - 1 }),
        ),
      () =>
        SessionEnded.create(
          about(`${session}/ended/${n}`, {
            ...place,
            reason: 'explicit',
            ...(below(2) ? { discard: true } : {}),
          }),
        ),
      () => ResponseDeleted.create(about(`i-${n}/deleted`, { interactionId: `resp_${n}`, lane, key })),
      () =>
        EnvironmentLeased.create(
          about(`${session}/environment/leased`, {
            ...{ ...place, environment: 'e', task: 't', taskDigest: 'd', attempt: 0, host: 'h' },
            expiresAt: new Date(now + 60_000).toISOString(),
          }),
        ),
      () =>
        EnvironmentActed.create(
          about(`${session}/environment/acted/${n}`, {
            ...{ ...place, call: `c-${n}`, name: 'say', argumentsDigest: 'd', observationDigest: 'd' },
            ...{ bytes: 1, isError: false, isDone: false, ms: 1 },
          }),
        ),
      () => EnvironmentReleased.create(about(`${session}/environment/released`, { ...place, by: 'client' })),
      () => SessionOpened.create(about(`${session}/opened/${n}`, { ...place, epoch: `e-${below(3)}` })),
      () =>
        SessionClosed.create(about(`${session}/closed/${n}`, { ...place, epoch: `e-${below(3)}`, by: 'x' })),
      () =>
        SampleReady.create(
          about(`i-${n}/ready`, {
            ...{
              sampleId: `i-${n}`,
              adapter,
              ...place,
              epoch: 'e',
              version: head,
              verdict: 1,
              source: 'reward',
            },
            ...{ soft: false, hints: [], messages, tokens, ...(below(2) ? { following: below(3) } : {}) },
          }),
        ),
      () =>
        SampleDropped.create(
          about(`i-${n}/dropped`, { sampleId: `i-${below(n + 1)}`, adapter, reason: 'stale' }),
        ),
      () => {
        batch += 1;
        const samples = [below(n + 1), below(n + 1)].map((index) => ({
          sampleId: `i-${index}`,
          at: { partition: 0, offset: 0 },
        }));
        return BatchSubmitted.create(
          about(`b-${batch}`, {
            ...{
              batchId: `b-${batch}`,
              adapter: 'default',
              n: batch,
              parent: head,
              size: 2,
              maxStaleness: 4,
            },
            ...{ samples, settings, seed: 1 },
          }),
        );
      },
      () =>
        PolicyCanaryStarted.create(
          about(`b-${batch}/canary`, {
            ...{
              batchId: `b-${batch}`,
              adapter: 'default',
              from: head,
              to: batch,
              checkpoint: 'c',
              digest: 'd',
            },
            ...{ share: 0.1, evidence: 20 },
          }),
        ),
      () => {
        const from = head;
        head = batch;
        return PolicyPromoted.create(
          about(`b-${batch}/promoted`, {
            ...{
              batchId: `b-${batch}`,
              adapter: 'default',
              from,
              to: batch,
              checkpoint: `c-${n}`,
              digest: 'd',
            },
          }),
        );
      },
      () =>
        PolicyRejected.create(
          about(`b-${batch}/rejected`, {
            ...{ batchId: `b-${batch}`, adapter: 'default', reason: 'gate', detail: '', metrics: {} },
          }),
        ),
      () => PolicyRolledBack.create(about(`r-${n}`, { adapter: 'default', from: head, to: below(head + 1) })),
    ];
    return made[below(made.length)]!();
  };
  for (let n = 0; n < count; n++) made.push(below(20) === 0 && n > 0 ? made[below(n)]! : one(n));
  return made;
}

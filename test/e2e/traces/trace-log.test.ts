import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { assemble } from '../../../services/collector/assemble.ts';
import { attribute } from '../../../services/collector/attribute.ts';
import { submit } from '../../../services/collector/submit.ts';
import { assistant, feedback, interaction, user } from '../../../services/collector/testing/events.ts';
import { judgeFold } from '../../../services/judge/judge-fold.ts';
import { outcomeEvents } from '../../../services/trainer/outcome.ts';
import type { BatchSubmitted } from '../../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { PolicyLoaded } from '../../../shared/events/policy-loaded.ts';
import { VoteCast } from '../../../shared/events/vote-cast.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import type { Fold } from '../../../shared/log/fold.ts';
import { openSqliteLog } from '../../../shared/log/sqlite/open-sqlite-log.ts';
import { defaultTrainingSettings } from '../../../shared/policy/train/training-defaults.ts';
import type { Span } from '../../../shared/tracing/spans-of-event.ts';
import { spanIdOf } from '../../../shared/tracing/trace-context.ts';
import { traceLog } from '../../../shared/tracing/trace-log.ts';

const WORDS = 'words of a person';
const time = '2026-01-02T03:04:05.000Z';
const clientTrace = 'a'.repeat(32);
const clientSpan = 'b'.repeat(16);
const given = (flags: string, trace = clientTrace) => `00-${trace}-${clientSpan}-${flags}`;
const { settings: training } = defaultTrainingSettings('claw-nano');

/** Two turns of one lane: the words after the first answer belong to another trace than its request. */
const chat = (lane: string, first: string | undefined, second: string | undefined) => {
  const question = [user(`${WORDS} ${lane}`)];
  return [
    interaction({ id: `${lane}1`, lane, messages: question, answer: 'hello', ...traced(first) }),
    interaction({
      id: `${lane}2`,
      lane,
      at: 1,
      messages: [...question, assistant('hello'), user(`${WORDS}: thanks`)],
      answer: 'bye',
      ...traced(second),
    }),
  ];
};
const traced = (traceparent: string | undefined) => (traceparent === undefined ? {} : { traceparent });

/** All folds on one traced log, with a judge that approves. */
async function openLoop() {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-traces-'));
  const spans: Span[] = [];
  let closed = 0;
  const exported = {
    send: (more: readonly Span[]) => void spans.push(...more),
    close: async () => void closed++,
  };
  const plain = await openSqliteLog({ folder, partitions: 1, sessionTimeoutMs: 2000 });
  const log = traceLog(plain, exported, () => Date.parse(time) + 60_000);
  const stop = new AbortController();
  const run = <Settings>(fold: Fold<Settings>, settings: Settings) =>
    log.process(fold, { group: fold.name, settings }, stop.signal);
  const works = [
    run(attribute, { atOnce: true }),
    run(judgeFold, { votes: 1, revises: true }),
    run(assemble, { atLeastOne: false, revises: true }),
    run(submit, { size: 2, maxStaleness: 4, training }),
    vote(log, stop.signal),
  ];
  onTestFinished(async () => {
    stop.abort();
    await Promise.all(works);
    await log.close();
    expect(closed).toBe(1);
    await rm(folder, { recursive: true, force: true });
  });
  return { log, spans };
}

const vote = (log: EventLog, signal: AbortSignal): Promise<void> =>
  log.follow(
    'turns',
    {},
    ({ event }) => {
      if (event.type !== 'turn.completed' || event.data.from === null) return;
      const { turnId, lane } = event.data;
      const cost = { promptTokens: 3, completionTokens: 1, milliseconds: 40 };
      const data = { turnId, lane, index: 0, vote: 1, text: WORDS, judge: 'test', cost } as const;
      const id = `${turnId}/vote/0`;
      const { traceparent } = event;
      void log.append([VoteCast.create({ id, source: 'clawloop/judge', time, traceparent, data })]);
    },
    { signal },
  ).done;

/** Each span as `name < name of its parent`. */
const tree = (spans: readonly Span[]) => {
  const nameOf = new Map(spans.map(({ spanId, name }) => [spanId, name]));
  return spans
    .map(
      ({ name, parentId }) =>
        `${name} < ${parentId === undefined ? '-' : (nameOf.get(parentId) ?? parentId)}`,
    )
    .sort();
};
const inTrace = (spans: readonly Span[], trace: string) => spans.filter(({ traceId }) => traceId === trace);
const until = (spans: readonly Span[], name: string, count: number) =>
  expect.poll(() => spans.filter((span) => span.name === name).length, { timeout: 30_000 }).toBe(count);

const story = (parent: string) =>
  [
    `chat default < ${parent}`,
    'judgment.reached < turn.completed',
    'sample.batched < sample.ready',
    'sample.ready < judgment.reached',
    'turn.completed < chat default',
    'vote.cast < turn.completed',
  ].sort();

test('a message and all its later events are one trace, with or without a trace of the client', async () => {
  const { log, spans } = await openLoop();
  await log.append([
    ...chat('x', given('01'), given('01', 'c'.repeat(32))),
    ...chat('y', undefined, undefined),
  ]);
  await until(spans, 'sample.batched', 2);
  expect(tree(inTrace(spans, clientTrace))).toEqual(story(clientSpan));
  const own = spans.find(({ spanId }) => spanId === spanIdOf('y1'))!;
  expect(tree(inTrace(spans, own.traceId))).toEqual(story('-'));
  expect(JSON.stringify(spans)).not.toContain(WORDS);
  const cast = spans.find(({ name }) => name === 'vote.cast')!;
  expect(cast.end - cast.start).toBe(40);
  await expectVersionTrace(log, spans);
});

/** A batch and its version are one trace, linked with the traces of its samples in both directions. */
async function expectVersionTrace(log: EventLog, spans: readonly Span[]): Promise<void> {
  const batch = spans.find(({ name }) => name === 'batch.submitted')!;
  const samples = spans.filter(({ name }) => name === 'sample.ready');
  const context = ({ traceId, spanId }: Span) => ({ traceId, spanId });
  expect(new Set(batch.links)).toEqual(new Set(samples.map(context)));
  for (const { links } of spans.filter(({ name }) => name === 'sample.batched'))
    expect(links).toEqual([context(batch)]);

  const batchId = 'default/batch/1';
  const figures = { metrics: { loss: 0.5 }, fingerprint: 'f', milliseconds: 2000 };
  const digests = { digest: 'd', batchDigest: 'b', samplesDigest: 's' };
  const state = { version: 1, parent: 0, gate: { passed: true }, settings: {}, ...digests, ...figures };
  const outcome = { kind: 'trained', checkpoint: '1-x', state } as unknown as Parameters<
    typeof outcomeEvents
  >[1];
  await log.append(outcomeEvents({ batchId, adapter: 'default' } as BatchSubmitted['data'], outcome, time));
  const data = { adapter: 'default', version: 1, replica: 'r', milliseconds: 30 };
  await log.append([
    PolicyLoaded.create({ id: 'r/default/loaded/1', source: 'clawloop/serving', time, data }),
  ]);
  expect(tree(inTrace(spans, batch.traceId))).toEqual([
    'batch.submitted < -',
    'policy.loaded < policy.promoted',
    'policy.promoted < batch.submitted',
    'policy.trained < batch.submitted',
  ]);
  const step = spans.find(({ name }) => name === 'policy.trained')!;
  expect([step.end - step.start, step.attributes['clawloop.metric.loss']]).toEqual([2000, 0.5]);
}

test('feedback settles a turn in the trace of its request', async () => {
  const { log, spans } = await openLoop();
  const [first] = chat('x', given('01'), undefined);
  await log.append([first!, feedback({ id: 'f', lane: 'x', at: 1 }, 'x1', -1)]);
  await until(spans, 'sample.ready', 1);
  expect(tree(inTrace(spans, clientTrace))).toContain('judgment.reached < turn.completed');
  expect(tree(inTrace(spans, clientTrace))).toContain('sample.ready < judgment.reached');
});

test('a client that does not sample its trace gets no span, and its sample no link', async () => {
  const { log, spans } = await openLoop();
  const events: readonly ClawLoopEvent[] = [
    ...chat('x', given('00'), given('00')),
    ...chat('y', undefined, undefined),
  ];
  await log.append(events);
  await until(spans, 'batch.submitted', 1);
  expect(inTrace(spans, clientTrace)).toEqual([]);
  expect(spans.find(({ name }) => name === 'batch.submitted')!.links).toHaveLength(1);
});

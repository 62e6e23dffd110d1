import { fileURLToPath } from 'node:url';
import { afterEach, expect, test, vi } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { Topic } from '../../shared/events/define-event.ts';
import { topicOf } from '../../shared/events/parse-event.ts';
import type { Position } from '../../shared/events/position.ts';
import type { EventLog, Recorded } from '../../shared/log/event-log.ts';
import { batch, completed, event, type Facts, factsOf, judged, ready } from './audit/testing/facts.ts';
import { withdrawTurn } from './withdraw-turn.ts';

afterEach(() => vi.restoreAllMocks());

/** Nothing can be stored below a file. */
const nowhere = fileURLToPath(import.meta.url);

/** A log with the given facts, which records appended events. */
function logOf(events: readonly ClawLoopEvent[]) {
  const added: ClawLoopEvent[] = [];
  const of = (topic: Topic) => [...events, ...added].filter((event) => topicOf(event) === topic);
  const log = {
    ends: async (topic: Topic) => [of(topic).length],
    starts: async () => [0],
    read: async (topic: Topic, { offset }: Position) => of(topic)[offset]!,
    append: async (more: readonly ClawLoopEvent[]) => void added.push(...more),
    follow: (topic: Topic, _: object, onRecord: (record: Recorded) => void) => {
      for (const [offset, one] of of(topic).entries())
        onRecord({ event: one, at: { partition: 0, offset } } as Recorded);
      return { caughtUp: Promise.resolve(), done: Promise.resolve() };
    },
  };
  return { log: log as unknown as EventLog, added };
}

const chat = event('interaction.completed', 'a', {
  interactionId: 'a',
  lane: 'lane',
  key: 'key',
  adapter: 'default',
  version: 0,
  live: true,
  settle: 'votes',
  messages: [{ role: 'user', content: 'hi' }],
  answer: { role: 'assistant', content: 'hello' },
});
const pinned = { ...chat, data: { ...chat.data, live: false } } as ClawLoopEvent;
const answered = completed('a', { from: 'b' });

async function withdrawn(...facts: readonly Facts[]) {
  const printed = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  const { log, added } = logOf(factsOf(facts));
  const code = await withdrawTurn({ log, folder: nowhere }, 'a', 'a private matter');
  return { code, printed: printed.mock.calls.flat().join('\n'), added };
}

test.each([
  ['waiting for next state', [chat]],
  ['waiting for verdict', [chat, answered]],
  ['waiting for session', [chat, answered, judged('a')]],
  ['waiting for batch', [chat, answered, judged('a'), ready('a')]],
])('a turn that is %s is withdrawn by an event', async (stage, events) => {
  const { code, printed, added } = await withdrawn(...events);
  expect(code).toBe(0);
  expect(printed).toBe(`a is withdrawn and will not train; its state was: ${stage}`);
  expect(added).toMatchObject([
    {
      type: 'interaction.withdrawn',
      id: 'a/taken-back',
      subject: 'lane',
      data: { interactionId: 'a', lane: 'lane', key: 'key', adapter: 'default', reason: 'a private matter' },
    },
  ]);
  expect(await withdrawn(...events, ...added)).toMatchObject({ code: 0, added: [] });
});

test('for a turn that does not train it prints the reason and appends nothing', async () => {
  const skipped = event('turn.skipped', 'a/skipped', { turnId: 'a', reason: 'superseded', by: 'b' });
  expect(await withdrawn(chat, skipped)).toEqual({
    code: 0,
    printed: 'a does not train in any case: superseded',
    added: [],
  });
  expect(await withdrawn(pinned)).toMatchObject({
    code: 0,
    printed: expect.stringContaining('pinned'),
    added: [],
  });
});

test('a turn that trains or trained is withdrawn for later, and the command says how to undo the step', async () => {
  const inBatch = [chat, answered, judged('a'), ready('a'), batch(1, 0, 'a')];
  expect(await withdrawn(...inBatch)).toMatchObject({
    code: 1,
    printed: expect.stringMatching(
      /b1, which is being trained, has it; to train again without it once that has ended, use .*policy retrain/,
    ),
    added: [{ type: 'interaction.withdrawn' }],
  });
  const promoted = event('policy.promoted', 'b1/promoted', { batchId: 'b1', from: 0, to: 1 });
  expect(await withdrawn(...inBatch, promoted)).toMatchObject({
    code: 1,
    printed: expect.stringMatching(/v1 learned from it.*policy retrain/),
    added: [{ type: 'interaction.withdrawn' }],
  });
  const withdrawal = event('interaction.withdrawn', 'a/taken-back', {
    interactionId: 'a',
    key: 'key',
    adapter: 'default',
  });
  expect(await withdrawn(...inBatch, promoted, withdrawal)).toMatchObject({ code: 1, added: [] });
});

test('an unknown turn id is refused', async () => {
  await expect(withdrawTurn({ log: logOf([chat]).log, folder: nowhere }, 'b', undefined)).rejects.toThrow(
    /no turn b in the log/,
  );
});

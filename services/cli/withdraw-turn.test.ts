import { afterEach, expect, test, vi } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { Topic } from '../../shared/events/define-event.ts';
import { topicOf } from '../../shared/events/parse-event.ts';
import type { EventLog, Recorded } from '../../shared/log/event-log.ts';
import { batch, completed, event, type Facts, factsOf, judged, ready } from './audit/testing/facts.ts';
import { withdrawTurn } from './withdraw-turn.ts';

afterEach(() => vi.restoreAllMocks());

/** A log that holds these facts, and notes what is added. */
function logOf(events: readonly ClawLoopEvent[]) {
  const added: ClawLoopEvent[] = [];
  const of = (topic: Topic) => [...events, ...added].filter((one) => topicOf(one) === topic);
  const log = {
    ends: async (topic: Topic) => [of(topic).length],
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
  ...{
    interactionId: 'a',
    lane: 'lane',
    key: 'key',
    adapter: 'default',
    version: 0,
    live: true,
    settle: 'votes',
  },
  ...{ messages: [{ role: 'user', content: 'hi' }], answer: { role: 'assistant', content: 'hello' } },
});
const pinned = { ...chat, data: { ...chat.data, live: false } } as ClawLoopEvent;
const told = completed('a', { from: 'b' });

async function withdrawn(...facts: readonly Facts[]) {
  const said = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  const { log, added } = logOf(factsOf(facts));
  const code = await withdrawTurn(log, 'a', 'a private matter');
  return { code, said: said.mock.calls.flat().join('\n'), added };
}

test.each([
  ['waiting for next state', [chat]],
  ['waiting for verdict', [chat, told]],
  ['waiting for session', [chat, told, judged('a')]],
  ['waiting for batch', [chat, told, judged('a'), ready('a')]],
])('a turn that is %s is withdrawn by a fact', async (stage, events) => {
  const { code, said, added } = await withdrawn(...events);
  expect(code).toBe(0);
  expect(said).toBe(`a is withdrawn and does not train; it was ${stage}`);
  expect(added).toMatchObject([
    {
      ...{ type: 'interaction.withdrawn', id: 'a/taken-back', subject: 'lane' },
      data: { interactionId: 'a', lane: 'lane', key: 'key', adapter: 'default', reason: 'a private matter' },
    },
  ]);
  expect(await withdrawn(...events, ...added)).toMatchObject({ code: 0, added: [] });
});

test('of a turn that does not train it says why, and writes nothing', async () => {
  const skipped = event('turn.skipped', 'a/skipped', { turnId: 'a', reason: 'superseded', by: 'b' });
  expect(await withdrawn(chat, skipped)).toEqual({
    code: 0,
    said: 'a does not train anyway: superseded',
    added: [],
  });
  expect(await withdrawn(pinned)).toMatchObject({
    code: 0,
    said: expect.stringContaining('pinned'),
    added: [],
  });
});

test('of a turn that is in a batch or has trained it says what undoes that', async () => {
  const inBatch = [chat, told, judged('a'), ready('a'), batch(1, 0, 'a')];
  expect(await withdrawn(...inBatch)).toMatchObject({
    code: 1,
    said: expect.stringMatching(/in b1.*rollback/),
    added: [],
  });
  const promoted = event('policy.promoted', 'b1/promoted', { batchId: 'b1', from: 0, to: 1 });
  expect(await withdrawn(...inBatch, promoted)).toMatchObject({
    ...{ code: 1, said: expect.stringMatching(/trained in v1.*rollback/), added: [] },
  });
});

test('an id that no turn has is refused', async () => {
  await expect(withdrawTurn(logOf([chat]).log, 'b', undefined)).rejects.toThrow(/no turn b in the log/);
});

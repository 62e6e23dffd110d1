import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { attribute } from './attribute.ts';
import { createCollectorMetrics } from './metrics.ts';
import {
  assistant,
  type InteractionGiven,
  interaction,
  sessionEnded,
  system,
  user,
} from './testing/events.ts';
import { runFold } from './testing/run-fold.ts';

const line = (id: string) => `Runtime: agent=main | session=agent:main:chat | sessionId=${id} | model=tier/m`;
const request = (words: string, id = 'one') => [system('You help.'), user(`${words}\n${line(id)}`)];
const heartbeat = 'Follow the heartbeat monitor scratch context when provided.';

/** The events of one request; its client names the session `one` and ends it. */
function attributed(given: Partial<InteractionGiven>, ...more: readonly ClawLoopEvent[]) {
  const interactionEvent = interaction({
    id: 'a',
    messages: request('hi'),
    answer: 'hello there',
    session: 'one',
    ...given,
  });
  const end = sessionEnded({ id: 'end', at: 1 }, 'one');
  const { emitted } = runFold(attribute, [interactionEvent, ...more, end], {});
  const fact = emitted.find((event) => event.type === 'turn.completed' || event.type === 'turn.skipped');
  if (fact?.type !== 'turn.completed' && fact?.type !== 'turn.skipped')
    throw new Error('no outcome was recorded');
  const { session, rule, disagreement } = fact.data;
  const outcome = fact.type === 'turn.skipped' ? fact.data.reason : 'completed';
  return { emitted, is: { outcome, session, rule, disagreement } };
}

async function counted(emitted: readonly ClawLoopEvent[]) {
  const registry = new Registry();
  createCollectorMetrics(registry).count(emitted);
  const [metric] = await Promise.all(
    (await registry.getMetricsAsJSON())
      .filter(({ name }) => name === 'clawloop_attribution_disagreements_total')
      .map(({ values }) => values),
  );
  return Object.fromEntries((metric ?? []).map(({ labels, value }) => [labels.kind, value]));
}

test('a client that declares what its content suggests agrees', async () => {
  const { is, emitted } = attributed({ turnType: 'main' });
  expect(is).toEqual({ outcome: 'no-next-state', session: 'one', rule: 'explicit-main' });
  expect(await counted(emitted)).toEqual({});
  const side = attributed({ turnType: 'side', messages: request(heartbeat) });
  expect(side.is).toEqual({ outcome: 'side', session: 'one', rule: 'explicit-side' });
});

test('the session that the client names applies, whatever the content suggests', async () => {
  const { is, emitted } = attributed({ turnType: 'main', messages: request('hi', 'two') });
  expect(is).toEqual({
    outcome: 'no-next-state',
    session: 'one',
    rule: 'explicit-main',
    disagreement: { session: 'two' },
  });
  expect(await counted(emitted)).toEqual({ session: 1 });
});

test('a turn declared main is main even if it reads like a heartbeat', async () => {
  const { is, emitted } = attributed(
    { turnType: 'main', messages: request(heartbeat) },
    interaction({
      id: 'b',
      at: 1,
      session: 'one',
      turnType: 'main',
      messages: [...request(heartbeat), assistant('hello there'), user('thanks')],
      answer: 'welcome',
    }),
  );
  expect(is).toEqual({
    outcome: 'completed',
    session: 'one',
    rule: 'explicit-main',
    disagreement: { turn: { type: 'side', rule: 'heartbeat' } },
  });
  expect(await counted(emitted)).toEqual({ 'said-main': 1 });
});

test('a turn declared side is side even if a person seems to write', async () => {
  const { is, emitted } = attributed({ turnType: 'side' });
  expect(is).toEqual({
    outcome: 'side',
    session: 'one',
    rule: 'explicit-side',
    disagreement: { turn: { type: 'main', rule: 'conversation' } },
  });
  expect(await counted(emitted)).toEqual({ 'said-side': 1 });
});

test('session and type may both disagree, and are counted separately', async () => {
  const { is, emitted } = attributed({ turnType: 'side', messages: request('hi', 'two') });
  expect(is.disagreement).toEqual({ session: 'two', turn: { type: 'main', rule: 'conversation' } });
  expect(await counted(emitted)).toEqual({ session: 1, 'said-side': 1 });
});

test('without a declaration or readable content there is no disagreement', () => {
  expect(attributed({ messages: request(heartbeat) }).is.disagreement).toBeUndefined();
  expect(attributed({ messages: [user('hi')], turnType: 'main' }).is.disagreement).toBeUndefined();
  const reward = { settle: 'reward', messages: request('hi', 'two') } as const;
  expect(attributed(reward).is.disagreement).toBeUndefined();
  const large = { tooLarge: true, turnType: 'side', messages: [] } as const;
  expect(attributed(large).is.disagreement).toBeUndefined();
});

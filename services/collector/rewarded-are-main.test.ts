import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { attribute } from './attribute.ts';
import type { AttributeSettings } from './fold-settings.ts';
import { assistant, feedback, interaction, sessionEnded, system, user } from './testing/events.ts';
import { end, rewardedAnswer } from './testing/rewarded-session.ts';
import { brief, runFold } from './testing/run-fold.ts';

// In a session settled by reward, a program sends the requests, not a person.

const fold = (
  events: readonly ClawLoopEvent[],
  settings: AttributeSettings = { atOnce: true, rewardedAreMain: true },
) => runFold(attribute, events, settings).emitted;
const emittedLines = (events: readonly ClawLoopEvent[]) => fold(events).map(brief);
/** The rule that classified each turn. */
const rules = (emitted: readonly ClawLoopEvent[]) =>
  emitted.flatMap(({ type, data }) =>
    type === 'turn.completed' || type === 'turn.skipped' ? [[data.turnId, data.rule]] : [],
  );

const agent = (id: string, text: string, words: string, more: { readonly turnType?: 'side' } = {}) =>
  interaction({
    id,
    session: 's',
    settle: 'reward',
    ...more,
    messages: [system(text), user(words)],
    answer: assistant(`the answer ${id}`),
  });
const plan = agent('plan', 'You plan the work of other agents in short lists.', 'Boil an egg.');
const code = agent('code', 'Write code. Never explain anything.', 'Boil an egg.');
const reward = feedback({ id: 'f' }, 'code', 1, { last: true });

test('agents with their own system texts are main, and a reward stays with the named answer', () => {
  const emitted = fold([plan, code, reward, end]);
  expect(emitted.map(brief)).toEqual([
    'completed plan <- ',
    'completed code <- ',
    'feedback plan: 0',
    'feedback code: 1',
    'closed s',
  ]);
  expect(rules(emitted)).toEqual([
    ['plan', 'rewarded-session'],
    ['code', 'rewarded-session'],
  ]);
});

test('similar system texts still belong to two agents', () => {
  const events = [agent('plan', 'You are the planner.', 'Go.'), agent('code', 'You are the coder.', 'Go.')];
  expect(emittedLines([...events, reward, end])).toContain('feedback plan: 0');
});

test('of two answers of one agent to the same request, the unwanted one is superseded', () => {
  const again = agent('again', 'Write code. Never explain anything.', 'Boil an egg.');
  expect(emittedLines([plan, again, code, reward, end])).toContain('skipped again: superseded');
});

test.each([
  ['a title', user('Generate a short title for this conversation, please.')],
  ['a summary', user('<conversation>\n[User]: hi\n</conversation>')],
  ['a timer', user('[OpenClaw heartbeat poll]')],
  ['a task of another agent', user('[Subagent Context] You are a subagent.')],
  ['nothing new', assistant('As I said')],
])('a request that reads like %s of a chat client is main', (_, message) => {
  const events = [
    plan,
    rewardedAnswer('x', 'hi|hello', { messages: [message] }),
    feedback({ id: 'f' }, 'x', 1),
    end,
  ];
  expect(rules(fold(events))).toContainEqual(['x', 'rewarded-session']);
  expect(emittedLines(events)).toEqual(expect.arrayContaining(['feedback plan: 0', 'feedback x: 1']));
});

test('a request declared side is side, and its texts do not contradict that', () => {
  const emitted = fold([plan, agent('beside', 'Write code.', 'Boil an egg.', { turnType: 'side' }), end]);
  expect(emitted[0]?.data).toMatchObject({ turnId: 'beside', reason: 'side', rule: 'explicit-side' });
  expect(emitted[0]?.data).not.toHaveProperty('disagreement');
});

test('an interaction that is too large to be recorded is not a main turn', () => {
  const large = rewardedAnswer('l', 'hi|hello', { messages: [], tooLarge: true });
  expect(emittedLines([plan, large, feedback({ id: 'f' }, 'plan', 1), end])).toEqual([
    'skipped l: too-large',
    'completed plan <- ',
    'feedback plan: 1',
    'closed s',
  ]);
});

test('a session settled by votes is classified by its texts', () => {
  const title = rewardedAnswer('t', 'Generate a title for this conversation|Eggs', {
    settle: 'votes',
    session: 'v',
  });
  expect(rules(fold([title, sessionEnded({ id: 'e' }, 'v')]))).toEqual([['t', 'title']]);
});

test('without the setting, a log folds as before', () => {
  const emitted = fold([plan, code, reward, end], { atOnce: true, firstEdits: true });
  expect(emitted.map(brief)).toEqual([
    'skipped code: side',
    'completed plan <- ',
    'feedback plan: 1',
    'closed s',
  ]);
  expect(rules(emitted)).toContainEqual(['code', 'other-system']);
});

import { expect, test } from 'vitest';
import { contentText } from '../../shared/chat/message.ts';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { plainCorpus, readNextMessages } from '../corpora/next-messages.ts';
import { people, type Way } from './people.ts';
import { stretches } from './run-person.ts';
import { holdSession } from './session.ts';
import { bareList, matterOfFact } from './tastes.ts';

const GOOD = 'Take good shoes and a map.';
const BAD = 'Hello! Take good shoes.';

const plainTexts = readNextMessages(plainCorpus).map(({ text }) => text);

const who = (way: Way) => people.find((one) => one.way === way)!;

async function talk(person: (typeof people)[number], answers: readonly string[]) {
  const asked: (readonly ChatMessage[])[] = [];
  const rated: (readonly [string, number])[] = [];
  const client = {
    ask: async (messages: readonly ChatMessage[]) => {
      asked.push(messages);
      return { id: String(asked.length), text: answers[asked.length - 1] ?? GOOD };
    },
    rate: async (id: string, score: number) => void rated.push([id, score]),
  };
  const held = await holdSession(person, { seed: 1, session: 1 }, client);
  return { ...held, asked, rated, last: asked.at(-1)!.map(({ content }) => contentText(content)) };
}

test('a person with words complains until the answer fits, and also sends the last words', async () => {
  const { firstMet, reactions, asked, last } = await talk(who('words'), [BAD, GOOD]);
  expect(firstMet).toBe(false);
  expect(reactions).toEqual([
    { id: '1', meant: 'bad', fault: 'greeting' },
    { id: '2', meant: 'good', fault: undefined },
  ]);
  expect(asked.length).toBe(3);
  expect(last.length).toBe(5);
});

test('a person who never praises goes on with other words', async () => {
  const { reactions, last } = await talk(people.find(({ praises }) => !praises)!, [BAD, GOOD]);
  expect(reactions).toEqual([{ id: '1', meant: 'bad', fault: 'greeting' }]);
  expect(plainTexts).toContain(last.at(-1));
});

test('a person with thumbs rates every answer, including the last, and says nothing', async () => {
  const { reactions, rated, last } = await talk(who('thumbs'), [BAD, GOOD]);
  expect(rated).toEqual([
    ['1', -1],
    ['2', 1],
  ]);
  expect(reactions.map(({ meant }) => meant)).toEqual(['bad', 'good']);
  expect(last).toHaveLength(3);
});

test('a person who regenerates repeats the request, and continues from the kept answer', async () => {
  const { reactions, asked, last } = await talk(who('regenerates'), [BAD, GOOD]);
  expect(asked[1]).toEqual(asked[0]);
  expect(last[1]).toBe(GOOD);
  expect(reactions).toEqual([
    { id: '1', meant: 'bad' },
    { id: '2', meant: 'good' },
  ]);
});

test('a person who leaves says nothing about a bad answer', async () => {
  const { reactions, asked } = await talk(who('leaves'), [BAD]);
  expect([reactions, asked.length]).toEqual([[], 1]);
});

test.each(['rephrases', 'repeats'] as const)(
  'a person who %s asks about the same topic after the answer',
  async (way) => {
    const { asked } = await talk(who(way), [BAD, GOOD]);
    const texts = asked[1]!.map(({ content }) => contentText(content));
    expect(texts).toHaveLength(3);
    expect(texts[2] === texts[0]).toBe(way === 'repeats');
  },
);

test('the result of a tool precedes the answer to a person with tools', async () => {
  const { asked } = await talk(people.find(({ usesTools }) => usesTools)!, []);
  expect(asked[0]!.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
});

test('a run is cut where the taste changes, unless it changes all the time', () => {
  const after = (sessions: number) => (session: number) => (session <= sessions ? bareList : matterOfFact);
  const met = [true, false, true, true, false, false, true, true];
  expect(stretches(met, after(6))).toEqual([met.slice(0, 6), met.slice(6)]);
  expect(stretches(met, after(2))).toEqual([met]);
});

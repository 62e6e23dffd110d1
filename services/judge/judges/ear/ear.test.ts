import { afterEach, expect, test } from 'vitest';
import { wishesIn } from '../../../../shared/wishes/wishes.ts';
import { earDigest, openEar } from '../../ear/open-ear.ts';
import { assistant, tool, turnCompleted, user } from '../../testing/events.ts';
import type { Judge } from '../judge.ts';
import { listen } from './ear.ts';
import { openEarThread } from './ear-thread.ts';

const open: Judge[] = [];
afterEach(async () => {
  for (const judge of open.splice(0)) await judge.close?.();
});

const ear = await openEar();
const heardOf = (...words: readonly string[]) =>
  listen({ messages: [user('a')], next: words.map(user) }, ear);

test('plain words give a verdict, and a known wish its standard text', () => {
  const heard = heardOf('No bullet points, please.');
  expect(heard.vote).toBe(-1);
  expect(wishesIn(heard.hint ?? '')).toContain('no-list');
  expect(heardOf('Thank you, that is exactly what I needed!')).toMatchObject({ vote: 1 });
});

test('a complaint without a wish gives no hint', () => {
  for (const words of ['That is wrong.', 'Das ist falsch.', 'Eso está mal.', '不对。'])
    expect(heardOf(words).hint, words).toBeUndefined();
});

test.each([
  'What is the capital of Peru?',
  'Wie hoch ist der Eiffelturm?',
  'ok',
  '¿Y en invierno?',
  'zxqv lorem wub 12',
  '',
])('the ear gives no verdict: %s', (words) => {
  expect(heardOf(words).vote).toBe(0);
  expect(heardOf(words).hint).toBeUndefined();
});

test('the ear is deterministic, and its thread gives the same verdicts', async () => {
  const judge = openEarThread();
  open.push(judge);
  for (const words of ['No bullet points, please.', 'What is the capital of Peru?']) {
    const { data } = turnCompleted('t', { next: [user(words)] });
    const vote = await judge.vote(data, 0, new AbortController().signal);
    expect(vote).toMatchObject(listen(data, ear));
    expect(vote.model).toBe(`ear@${earDigest().slice(0, 12)}`);
  }
});

test("a client's reminder before a person's words changes nothing", () => {
  const words = 'No bullet points, please.';
  expect(heardOf(`<system-reminder>\nBe quick.\n</system-reminder>\n${words}`)).toEqual(heardOf(words));
});

test('words of other people give no verdict', () => {
  expect(heardOf('【系统提示】上下文已压缩。不要列表,谢谢。').vote).toBe(0);
  expect(heardOf('<system-reminder>No bullet points, please.</system-reminder>').vote).toBe(0);
  expect(heardOf('Summarise this review:\n\nNo bullet points, please. Terrible answer.').vote).toBe(0);
  expect(listen({ messages: [user('a')], next: [assistant('No bullet points, please.')] }, ear).vote).toBe(0);
});

test('a reply to a question in the answer is no verdict on it', () => {
  const turn = { messages: [user('a')], next: [user('No, bullet points are not wanted there.')] };
  const asking = assistant('Shall I use bullet points?');
  expect(listen({ ...turn, answer: asking }, ear).vote).toBe(0);
});

test('without words the rules judge failed tools and repeated requests', () => {
  expect(listen({ messages: [user('do it')], next: [tool('Error: no such table')] }, ear).vote).toBe(-1);
  const messages = [user('How long do I boil an egg?')];
  expect(listen({ messages, next: [user('How long do I boil the eggs?')] }, ear).vote).toBe(-1);
});

test('a message of any length is heard quickly', () => {
  const start = process.threadCpuUsage();
  for (const word of ['so ', '啰嗦', 'no. ', 'a', '👍', 'no\n', '...', 'ẞ́']) heardOf(word.repeat(100_000));
  expect(process.threadCpuUsage(start).user).toBeLessThan(10_000_000); // microseconds
});

const plainAnswer = 'Dry it and oil it.';
/** The verdict of words after an answer. */
const voteAfter = (answer: string, words: string) =>
  listen({ messages: [user('a')], next: [user(words)], answer: assistant(answer) }, ear).vote;

test.each([
  'No, too long. Please answer in one sentence: how do I keep a pan from rusting?',
  'Nein, zu lang.',
  'Non, trop long.',
  'No, demasiado largo.',
])('a "no" after an answer that asks nothing rejects it: %s', (words) => {
  expect(voteAfter(plainAnswer, words)).toBe(-1);
  expect(voteAfter('Dry it. Is the pan small?', words)).toBe(0);
});

test.each([
  'No, thanks.',
  'No, never mind.',
  'No, nothing else',
  'Nein, mehr brauche ich nicht',
  'no no, all good',
])('a "no" that rejects nothing says nothing: %s', (words) => {
  expect(voteAfter(plainAnswer, words)).not.toBe(-1);
});

test.each([
  'Hey, too long',
  'hey too long',
  'Hi, that is wrong',
  'Hallo, bitte keine Listen',
  'Hola, demasiado largo',
  'Bonjour, trop long',
  'Listen: no lists please',
  'My feedback: too long',
  'Nochmal: bitte keine Listen',
  'Nota: demasiado largo',
  'Encore une fois : trop long',
  '反馈：太长了',
])('a greeting or a label before a complaint hides nothing: %s', (words) => {
  expect(voteAfter(plainAnswer, words)).toBe(-1);
});

test.each(['Hi Anna,\nthat is wrong. Too long.', 'hi anna, that is wrong', 'Hello Bob\nno lists please'])(
  'a mail is not about the answer: %s',
  (words) => {
    expect(voteAfter(plainAnswer, words)).toBe(0);
  },
);

import { expect, test } from 'vitest';
import { tool, turnCompleted, user } from '../../testing/events.ts';
import { readSignals, signalsJudge } from './signals.ts';
import { signalsOf } from './testing/hear.ts';

test('praise and complaint of the same strength give no verdict', () => {
  expect(signalsOf('Great. But too long, and great.')).toMatchObject({ vote: 0 });
  expect(signalsOf('Perfect. Too long.')).toMatchObject({ vote: 0 });
});

test('the text of a vote is its evidence, and the wish is its hint', () => {
  expect(signalsOf('Please no lists. How long do I cook rice?')).toEqual({
    vote: -1,
    text: '-2 no-such-form: please no lists',
    hint: 'No lists, please.',
  });
  expect(signalsOf('Thanks! That’s perfect.').hint).toBeUndefined();
  expect(signalsOf('Wrong.')).toEqual({ vote: -1, text: '-2 wrong: wrong' });
});

test('a reworded request is a complaint; another request is not', () => {
  const messages = [user('How long do I boil an egg?')];
  const after = (words: string) => readSignals({ messages, next: [user(words)] }).vote;
  expect(after('I want to know how long to boil the eggs')).toBe(-1);
  expect(after('How long do I boil an egg?')).toBe(-1);
  expect(after('How long do I boil another egg?')).toBe(0);
  expect(after('How long do I boil potatoes?')).toBe(0);
  expect(readSignals({ messages: [user('joke')], next: [user('joke')] }).vote).toBe(0);
});

test.each([
  ['{"error":"unknown city"}', -1],
  ['{"success":false,"message":"no"}', -1],
  ['{"exit_code":2,"output":""}', -1],
  ['{"is_error":true}', -1],
  ['{"status":404}', -1],
  ['Error: no such table', -1],
  ['Traceback (most recent call last):\n  File "a.py"\nKeyError: 3', -1],
  ['bash: foo: command not found', -1],
  ['cat: a.txt: No such file or directory', -1],
  ['Process exited with code 1', -1],
  ['{"error":null,"result":3}', 0],
  ['{"ok":true}', 0],
  ['{"temperature":21}', 0],
  ['0 errors, 12 passed', 0],
  ['Process exited with code 0', 0],
  ['The error rate fell to 2 %.', 0],
  ['Error: connect ECONNREFUSED 10.0.0.1:80', 0],
  ['{"error":"rate limit exceeded"}', 0],
  ['HTTP error 503', 0],
])('tool output %s gives the vote %d', (output, vote) => {
  expect(readSignals({ messages: [user('do it')], next: [tool(output)] }).vote).toBe(vote);
});

test('words outrank tool output, and one failed call of several counts', () => {
  const messages = [user('do it')];
  expect(readSignals({ messages, next: [tool('Error: no'), user('Perfect, thanks!')] }).vote).toBe(1);
  expect(readSignals({ messages, next: [tool('{"ok":true}'), tool('Error: no')] }).vote).toBe(-1);
  expect(readSignals({ messages, next: [tool('Error: no'), user('What is next?')] }).vote).toBe(-1);
});

test('a message of any length is judged quickly', () => {
  const start = process.threadCpuUsage();
  for (const word of ['so ', 'no ', 'a ', 'that is ', 'please can you ', 'i want it ', 'no lists and '])
    signalsOf(word.repeat(50_000));
  const { user } = process.threadCpuUsage(start); // microseconds, whatever else the machine does
  expect(user).toBeLessThan(10_000_000); // a pattern that backtracks without bound takes minutes
});

test('the judge casts one vote and costs no tokens', async () => {
  expect(signalsJudge.defaultVotes).toBe(1);
  expect(await signalsJudge.vote(turnCompleted('t').data, 0, AbortSignal.timeout(1000))).toMatchObject({
    vote: 1,
    cost: { promptTokens: 0, completionTokens: 0 },
  });
});

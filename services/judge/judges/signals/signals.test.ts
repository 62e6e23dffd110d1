import { expect, test } from 'vitest';
import { tool, turnCompleted, user } from '../../test-events.ts';
import { readSignals, signalsJudge } from './signals.ts';

const of = (...words: string[]) => readSignals(turnCompleted('t', { next: words.map(user) }).data);

const good = [
  'Perfect, thanks!',
  'Thanks!',
  'Thank you so much.',
  'Great, thank you. How do I cook rice?',
  'That is exactly what I wanted.',
  "That's perfect",
  "No thanks, that's perfect.",
  'Not bad at all!',
  'not bad',
  'Lovely. Now, what about pasta?',
  'I love it',
  'I like how short that was.',
  'Exactly what I needed!',
  'Much better.',
  "That's much better, thank you",
  'This is great!',
  'That works, cheers.',
  'It worked!',
  'Nice answer.',
  'Good job',
  'awesome!!',
  'You nailed it.',
  'Just what I was looking for',
  "Couldn't be better.",
  'Keep it like this.',
  'It was a bit long, but great, thanks',
  'Great answer, but how do I cook pasta?',
  'Thanks again!',
  "I'll try that, thanks!",
  "Nothing wrong with that, it's perfect.",
  'Thats perfect',
  'ok thanks',
  '👍',
  'Yes, that helped. What is the capital of France?',
  'Short and clear, just how I like it.',
  'Well done!',
  'That makes sense, thanks.',
  'Perfect! No greeting, no fuss. Thank you!',
  'Great. Could you list three fruits?',
];

const bad = [
  'Please no lists.',
  'No lists please!',
  "Please don't use lists.",
  'no bullet points',
  "I don't like being greeted, just answer",
  'I don’t like being greeted.',
  'Please do not greet me.',
  "Don't say hello, just answer.",
  'Stop greeting me!',
  'Stop using bullet points.',
  'Skip the greeting next time.',
  'No greeting please. How long do I cook rice?',
  'Without lists, please.',
  'Shorter please',
  'Shorter.',
  'Can you make it shorter?',
  'Could you give me a shorter version?',
  'Please be more concise.',
  'Too long.',
  "That's too long",
  'Way too wordy.',
  'I asked for a short answer.',
  'I said no lists!',
  "That's not what I asked.",
  'Not what I wanted.',
  "That's wrong.",
  'Wrong!',
  'This is incorrect.',
  'That does not help.',
  "It didn't work",
  'It still fails.',
  'Try again.',
  'Again, please.',
  'Once more, without the list.',
  'Thanks, but shorter please.',
  'Thanks, but that is not what I asked for.',
  'Not great.',
  'That was not helpful.',
  'That is not very good',
  'I hate lists.',
  'I do not like it.',
  "I don't need a list, a sentence will do.",
  'You forgot the salt.',
  "You didn't answer my question.",
  'Why do you keep greeting me?',
  'How many times do I have to say it?',
  'No, I meant Paris in Texas.',
  'Just answer the question.',
  'In plain sentences please.',
  'Rewrite it as a paragraph.',
  'Write it as a list instead.',
  'Use bullet points please.',
  'I prefer lists.',
  'Please use lists.',
  'Could you rephrase that?',
  'Same error.',
  'ugh, another list',
  "That's a terrible answer.",
  'Get to the point.',
  '👎',
  'In English please.',
  'Please answer in one sentence.',
  'I would prefer plain prose.',
  "I'd rather have a list.",
  'more detail please',
  'Enough with the emojis.',
  'Please leave out the greeting.',
  'You are wrong.',
  'This makes no sense.',
];

const silent = [
  'What is the capital of France?',
  'How do I cook rice?',
  'Now tell me about pasta.',
  'Can you list three fruits?',
  'Give me a list of fruits.',
  'Write a thank you note to my aunt.',
  'Translate "this is wrong" into French.',
  'Please summarise this article. Thanks.',
  'Write a haiku about snow. Thanks in advance.',
  'Write about a terrible storm.',
  'My hair is too long, what should I do?',
  'Bad dreams keep me awake.',
  'Why is my wifi not working?',
  'What is the difference between good and great?',
  'What is wrong with my code?',
  'I like pizza. What should I cook?',
  'I want to go to work by bike.',
  "I don't want to go to work.",
  'Nice weather today.',
  'Good morning',
  'Ok.',
  'Yes',
  'No thanks.',
  'And in winter?',
  'How do I say thank you in German?',
  'Tell me another joke.',
  'I wanted to ask how to bake bread.',
  'How do I stop smoking?',
  '',
  'Is it bad to eat late?',
  'What is a list in Python?',
  'How do I make a list in Markdown?',
  'Make a shopping list for a week.',
  'How do I write a short story?',
  '> that is wrong\nWhat does this quote say?',
  '```\nError: wrong\n```',
];

test.each(good)('good: %s', (words) => {
  expect(of(words)).toMatchObject({ vote: 1 });
});
test.each(bad)('bad: %s', (words) => {
  expect(of(words)).toMatchObject({ vote: -1 });
});
test.each(silent)('says nothing: %s', (words) => {
  expect(of(words)).toEqual({ vote: 0, text: 'no evidence' });
});

test('praise and complaint of the same strength are no verdict', () => {
  expect(of('Great. But too long, and great.')).toMatchObject({ vote: 0 });
  expect(of('Perfect. Too long.')).toMatchObject({ vote: 0 });
});

test('the evidence that fired is the text, and the corrective words are the hint', () => {
  expect(of('Please no lists. How long do I cook rice?')).toEqual({
    vote: -1,
    text: '-2 no-such-form: please no lists',
    hint: 'Please no lists.',
  });
  expect(of('Thanks! That’s perfect.').hint).toBeUndefined();
  expect(of('Wrong.')).toEqual({ vote: -1, text: '-2 wrong: wrong' });
});

test('the same request in other words is a complaint, a further request is not', () => {
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
])('a tool that says %s is worth %d', (output, vote) => {
  expect(readSignals({ messages: [user('do it')], next: [tool(output)] }).vote).toBe(vote);
});

test("a person's words outrank a tool's output, and one failed call of several counts", () => {
  const messages = [user('do it')];
  expect(readSignals({ messages, next: [tool('Error: no'), user('Perfect, thanks!')] }).vote).toBe(1);
  expect(readSignals({ messages, next: [tool('{"ok":true}'), tool('Error: no')] }).vote).toBe(-1);
  expect(readSignals({ messages, next: [tool('Error: no'), user('What is next?')] }).vote).toBe(-1);
});

test('a message of any length is read in no time', () => {
  const start = performance.now();
  for (const word of ['so ', 'no ', 'a ', 'that is ', 'please can you ', 'i want it ', 'no lists and '])
    of(word.repeat(50_000));
  expect(performance.now() - start).toBeLessThan(2000);
});

test('as a judge it casts one vote and costs no tokens', async () => {
  expect(signalsJudge.defaultVotes).toBe(1);
  expect(await signalsJudge.vote(turnCompleted('t').data, 0, AbortSignal.timeout(1000))).toMatchObject({
    vote: 1,
    cost: { promptTokens: 0, completionTokens: 0 },
  });
});

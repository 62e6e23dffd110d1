import { expect, test } from 'vitest';
import { isOfMachine, opensWithLabel } from './machine.ts';

test.each([
  'You are a careful planning agent. Keep it short and use no lists.',
  'Reminder: the notes were not saved.',
  'The user wants shorter answers. Update the profile.',
  'Nothing was stored. Answer SILENT_REPLY if that is fine.',
  'Your task is to shorten the text above, it is too long.',
  '[hourly check] Too many open tickets.',
  'The previous attempt failed. Try again without lists.',
  'You are working in the repository at /srv/api. Keep the table short.',
  'Called the Read tool with the following input: {"path":"list.txt"}',
  'Result of calling the Read tool:\n1\t{\n2\t  "private": true\n3\t}',
  'No prose, only paths: your final message is all that is returned.',
])('written by a program: %s', (words) => {
  expect(isOfMachine(words)).toBe(true);
});

test.each([
  'You are a genius!',
  'Too long. Try again without lists.',
  'No, I asked for one sentence.',
  'Reply in German please.',
  'I have no session today, thanks.',
  'You called the Read tool again instead of answering.',
  'You are working on my nerves.',
  'Your last answer was too long.',
])('written by a person: %s', (words) => {
  expect(isOfMachine(words)).toBe(false);
});

test('a label in CJK brackets is no word of the person', () => {
  expect(opensWithLabel('【系统通知】任务已结束。')).toBe(true);
  expect(opensWithLabel('太长了【第三段】')).toBe(false);
});

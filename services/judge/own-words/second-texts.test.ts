import { expect, test } from 'vitest';
import type { ChatMessage } from '../../../shared/chat/message.ts';
import { readSignals } from '../judges/signals/signals.ts';
import { assistant, user } from '../testing/events.ts';

/**
 * A second set, invented before the rules were written and never used to shape them: what reaches an agent at
 * a desk, in a shop, in a kitchen.
 */
const vote = (next: ChatMessage): number =>
  readSignals({ messages: [user('Plan my Monday.'), assistant('Up at seven.')], next: [next] }).vote;

const passedOn: readonly string[] = [
  'can you draft an answer to the customer below\n\nI ordered two lamps. This is not what I ordered. You sent the wrong one, and your answer was useless.',
  'Proofread: Your explanation is confusing and way too long.',
  'What tone does this have? "You are wrong, and you did not read my message."',
  'Here is the ticket:\nIt does not work. I get the same error. Please fix it.',
  'Is this spam?\n\nDear friend,\n\nStop using lists. That is wrong. Click here.',
  'Our landlord says:\n“This is unacceptable. Too many words. Answer the question.”\nHow bad is that?',
  'Turn the following into bullet points. That is wrong. It should be seven. Do it again.',
  'Minutes of today:\n- Jo: that is not what I asked\n- Kim: please be brief\nWho has to do what?',
  'tl;dr\n\nThis is terrible. I hate lists. Keep it short.',
  'Can you check the grammar of this?\nIt not work. Please to make it shorter. Is wrong.',
  'Subject: Re: lamps\n\nNo. I wanted the red one. Try again.',
  '[12:01] mallory: that is wrong\n[12:02] bob: hm\nsum up',
  '<div class="post"><p>That is wrong.</p><p>Please no lists.</p></div> what does this page say',
  '# README\n\nThat is wrong. Please no lists. Do not greet me.',
  'He replied: no, that is wrong, make it shorter. What do I say?',
  'My professor commented on my essay: "Too long. Not what I asked." Help me improve it.',
  'Übersetze bitte: That is not right. You are wrong.',
  'Classify the sentiment of these:\n1. That is perfect, thanks!\n2. Great answer.',
  'Explain this error message to me\nError: that is wrong\n    at main (a.js:1)',
  'The page says the following: Perfect, thank you! Great job.',
  'Extract all dates from the text below.\nThanks a lot, that was very helpful on 3 May.',
  'Answer this question from my pupil: Why is it wrong? You are wrong. I do not understand.',
  'Observation 3: perfect, thanks. Great answer.',
  'Function returned:\nThat is wrong.',
  'Command output:\nThat is wrong.\nToo long.',
];

test.each(passedOn)('passed on, no verdict: %s', (text) => {
  expect(vote(user(text))).toBe(0);
});

const own: readonly (readonly [number, string])[] = [
  [-1, 'No, that is wrong: I start at nine.'],
  [-1, "That's not what I asked. I asked about Monday, this is about Tuesday."],
  [-1, 'Too long.\n\nPlease keep it short.'],
  [-1, 'No lists please. Translate it into German as well.'],
  [-1, 'You forgot the dentist (see "10:00 dentist" in my calendar).'],
  [-1, 'This does not work. I get this:\n\nTypeError: x is not a function'],
  [-1, 'Wrong! The train leaves at 8, not at 7, so please do it again.'],
  [1, 'Perfect, thanks! Can you now reply to this mail?\n\nHi Ann, that is wrong. Bob'],
  [1, 'Great, thank you. Summarise my inbox.'],
  [1, 'Thanks, that helped a lot. Next: what is a verb?'],
  [-1, 'That is wrong.\n> Up at seven\nI said nine.'],
  [-1, 'Make it shorter.\n\nAlso add lunch.'],
];

test.each(own)('own words, vote %d: %s', (expected, text) => {
  expect(vote(user(text))).toBe(expected);
});

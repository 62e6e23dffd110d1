import { expect, test } from 'vitest';
import { isRepeatedRequest } from './judges/signals/repeated-request.ts';
import { reactionIn } from './reaction.ts';
import { assistant, user } from './testing/events.ts';

const reactionTo = (request: string, next: string) =>
  reactionIn({ messages: [user(request)], answer: assistant('Of course.'), next: [user(next)] });

test.each([
  ['How do I read a file in C?', 'How do I read a file in C#?'],
  ['Write a hello world program in C.', 'Write a hello world program in Go.'],
  ['What is the boiling point of water?', 'What is the boiling point of H2O under 2 bar?'],
  ['Convert 100 euros to dollars.', 'Convert 100 dollars to euros.'],
  ['What is the fastest train from Paris to Rome?', 'What is the fastest train from Rome to Paris?'],
  ['What is the fastest train from Paris to Rome?', 'What is the fastest train to Paris from Rome?'],
  ['Which foods contain iron?', 'Which foods do not contain iron?'],
  ["Which foods don't contain iron?", 'Which foods contain iron?'],
  ['What is 17 + 3 apples?', 'What is 17 - 3 apples?'],
  ['Convert 5 miles to kilometers.', 'Convert 8 miles to kilometers.'],
  ['What is the population of Australia?', 'What is the population of Austria?'],
  ['What are the visa rules for the UK?', 'What are the visa rules for the US?'],
  ['Wie viel sind 5 Euro in Dollar?', 'Wie viel sind 7 Euro in Dollar?'],
  ['Wie koche ich Suppe mit Fleisch?', 'Wie koche ich Suppe ohne Fleisch?'],
  ['100美元兑换欧元', '100欧元兑换美元'],
])('%s - %s: another request', (request, next) => {
  expect(reactionTo(request, next)).toBeUndefined();
  expect(isRepeatedRequest(request, next)).toBe(false);
});

test.each([
  ['What is the next train to Berlin?', 'What is the next train to Berlin?'],
  ['What is the weather in New York today?', 'What is the weather in New York today?'],
  ['how long do i boil an egg', 'HOW LONG DO I BOIL AN EGG'],
  ['Convert 5 miles to kilometers, please.', 'convert 5 miles to kilometers!!'],
  ['How do I read a file in C#?', 'How do I read the file in C#?'],
  ['How long do I boil an egg?', 'No, how long do I boil an egg?'],
  ['What is the best pizza in Rome - quick answer', 'What is the best pizza in Rome, quick answer'],
])('%s - %s: the same request', (request, next) => {
  expect(reactionTo(request, next)).toBe('asked-again');
  expect(isRepeatedRequest(request, next)).toBe(true);
});

test.each(["Can't you tell me how long I boil an egg?", 'how long do i boil an egg. you did not say'])(
  '%s: the negation is not about the subject',
  (next) => {
    expect(isRepeatedRequest('How long do I boil an egg?', next)).toBe(true);
  },
);

test('a Chinese request with another particle is the same one', () => {
  const next = '北京到上海的最快的火车是什么时候出发';
  expect(reactionTo('北京到上海最快的火车是什么时候出发', next)).toBe('asked-again');
});

test.each(['[document]', '[image]', '<document>\nSales rose.\n</document>\n'])(
  'the same words beside %s say nothing, because it may be another one',
  (file) => {
    const request = `${file} Summarise the report about sales`;
    expect(reactionTo(request, request)).toBeUndefined();
  },
);

test('Spanish words for more count only if they are new', () => {
  expect(reactionTo('¿Cuál es el río más largo?', '¿Cuál es el río más largo?')).toBe('asked-again');
  expect(reactionTo('Un poema sobre el otoño', 'Otro poema sobre el otoño')).toBeUndefined();
});

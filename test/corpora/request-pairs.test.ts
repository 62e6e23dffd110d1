import { expect, test } from 'vitest';
import { z } from 'zod';
import { reactionIn } from '../../services/judge/reaction.ts';
import { assistant, user } from '../../services/judge/testing/events.ts';
import { readTable } from './read-table.ts';

const columns = ['author', 'lang', 'kind', 'request', 'next'] as const;

const row = z.object({
  /** the rules were chosen with the pairs of the first two in view */
  author: z.enum(['first', 'second', 'unseen']),
  lang: z.enum(['en', 'de', 'es', 'fr', 'pt', 'zh', 'ja']),
  /** the second request: the same in other words, about the same subject, of the same form about another thing, ... */
  kind: z.enum(['again', 'follow-up', 'varied', 'more', 'changed', 'other']),
  request: z.string().min(1),
  next: z.string().min(1),
});

type Pair = z.output<typeof row>;

/** Requests of people, each with the next one. */
const pairs = readTable('request-pairs', columns).map((cells) => row.parse(cells));

const share = (author: Pair['author'], kind: Pair['kind'], reaction: string): number => {
  const some = pairs.filter((pair) => pair.author === author && pair.kind === kind);
  const counted = some.filter(
    ({ request, next }) =>
      reactionIn({ messages: [user(request)], answer: assistant('Of course.'), next: [user(next)] }) ===
      reaction,
  );
  return counted.length / some.length;
};

test.each(['first', 'second', 'unseen'] as const)(
  'author %s: no other question is taken for the same one, and few repeated ones for a new subject',
  (author) => {
    for (const kind of ['follow-up', 'varied', 'more', 'other'] as const)
      expect(share(author, kind, 'asked-again'), kind).toBe(0);
    // hardly anybody asks the same in the same words
    expect(share(author, 'again', 'asked-again')).toBeGreaterThan(0);
    expect(share(author, 'again', 'moved-on')).toBeLessThan(0.15);
  },
);

test.each(['first', 'unseen'] as const)('author %s: a changed request is another one', (author) => {
  expect(share(author, 'changed', 'asked-again')).toBe(0);
});

test('new subjects are recognised', () => {
  expect(share('unseen', 'other', 'moved-on')).toBeGreaterThan(0.4);
});

import { expect, test } from 'vitest';
import { bare, bareFolder, earData, isOwn } from './apart.ts';
import { allCorpora, readNextMessages } from './next-messages.ts';

test('the same words are the same text', () => {
  expect(bare('Too  much,\nreally!')).toBe(bare('too much \\n REALLY'));
  expect(isOwn('thanks!')).toBe(false);
  expect(isOwn('用一句话说就行')).toBe(true);
});

test.each(allCorpora)('nothing that trains the ear holds a message of %s', (corpus) => {
  const trained = bareFolder(earData);
  const shared = readNextMessages(corpus).filter(({ text }) => isOwn(text) && trained.includes(bare(text)));
  expect(shared.map(({ text }) => text)).toEqual([]);
});

import { expect, test } from 'vitest';
import { allCorpora, type NextMessage, readNextMessages } from './next-messages.ts';
import { type Heard, hasHint, hintRate, type Scored, scoresOf, scoreTable } from './scoring.ts';

const message = (label: NextMessage['label'], wish: NextMessage['wish'] = []): NextMessage => ({
  lang: 'en',
  style: 'direct',
  label,
  wish,
  request: 'r',
  answer: 'a',
  text: 't',
});
const scored = (label: NextMessage['label'], vote: Heard['vote']): Scored => ({
  message: message(label),
  heard: { vote },
});

test('precision counts what was called so, recall what was meant so', () => {
  const all = [
    scored('bad', -1),
    scored('bad', -1),
    scored('bad', 0),
    scored('bad', 1),
    scored('good', 1),
    scored('good', null),
    scored('neither', -1),
    scored('neither', 0),
  ];
  expect(scoresOf('bad', all)).toEqual({ precision: 2 / 3, recall: 2 / 4, heard: 2, of: 4 });
  expect(scoresOf('good', all)).toEqual({ precision: 1 / 2, recall: 1 / 2, heard: 1, of: 2 });
  expect(scoresOf('good', [])).toEqual({ precision: null, recall: null, heard: 0, of: 0 });
  expect(scoreTable(all)).toMatch(/all +8 +67 % +50 % +50 % +50 % +-/);
});

test.each<readonly [NextMessage['wish'], Heard, boolean]>([
  [['no-list'], { vote: -1, hint: 'No lists, please.' }, true],
  [['no-list'], { vote: -1, hint: 'Please use bullet points.' }, false],
  [['shorter', 'one-sentence'], { vote: -1, hint: 'No lists, please. A short answer, please.' }, true],
  [['no-list'], { vote: -1, hint: 'Write this as running text.' }, true],
  [['no-list'], { vote: 0, hint: 'No lists, please.' }, false],
  [['other'], { vote: -1, hint: 'There are two guests.' }, true],
  [['other'], { vote: -1 }, false],
])('a wish %j and %j: %j', (wish, heard, found) => {
  const one = { message: message('bad', wish), heard };
  expect(hasHint(one)).toBe(found);
  expect(hintRate([one, scored('bad', -1)])).toBe(found ? 1 : 0);
});

test.each(allCorpora)('%s holds each text once', (corpus) => {
  const all = readNextMessages(corpus);
  expect(new Set(all.map(({ text }) => text)).size).toBe(all.length);
});

test.each(['next-messages', 'harder-messages'] as const)(
  '%s holds every language, style and label',
  (corpus) => {
    const all = readNextMessages(corpus);
    expect(all.length).toBeGreaterThanOrEqual(420);
    const count = (of: (one: NextMessage) => boolean) => all.filter(of).length;
    expect(count(({ style }) => style === 'machine')).toBeGreaterThanOrEqual(15);
    expect(count(({ label }) => label === 'bad')).toBeGreaterThan(200);
    expect(count(({ label }) => label === 'good')).toBeGreaterThan(50);
    expect(all.every(({ label, wish }) => label === 'bad' || wish.length === 0)).toBe(true);
    expect(all.every(({ label, style }) => label === 'neither' || style !== 'machine')).toBe(true);
  },
);

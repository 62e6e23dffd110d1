import { beforeAll, describe, expect, test } from 'vitest';
import { plain, scoresBy, scoresOn, testOn } from './ear-on-corpus.ts';
import { corpora, plainCorpus, readNextMessages } from './next-messages.ts';
import { hintRate, part, type Scored, scoresOf, scoreTable } from './scoring.ts';

/** In each language, over all corpora: least precision of complaints, and least share of direct complaints heard. */
const languages = {
  en: { precision: 0.97, direct: 0.9 },
  'en-nonnative': { precision: 0.98, direct: 0.94 },
  de: { precision: 0.95, direct: 0.86 },
  es: { precision: 0.97, direct: 0.83 },
  fr: { precision: 0.95, direct: 0.82 },
  pt: { precision: 0.95, direct: 0.86 },
  zh: { precision: 0.935, direct: 0.86 },
  ja: { precision: 0.96, direct: 0.86 },
} as const satisfies Readonly<Record<string, object>>;

corpora.forEach(testOn);

describe('all corpora together', () => {
  let everything: readonly Scored[];
  beforeAll(async () => {
    everything = (await Promise.all(corpora.map(scoresOn))).flat();
  });

  test.each(Object.entries(languages))(
    '%s: nearly all that it calls bad is so, and it hears most direct complaints',
    (lang, goal) => {
      const scored = everything.filter(({ message }) => message.lang === lang);
      expect(scoresOf('bad', scored).precision).toBeGreaterThanOrEqual(goal.precision);
      const direct = scored.filter(({ message }) => plain.includes(message.style));
      expect(scoresOf('bad', direct).recall).toBeGreaterThanOrEqual(goal.direct);
    },
  );

  test('it hears half of the indirect complaints in other languages than English too', () => {
    const others = everything.filter(
      ({ message }) => !message.lang.startsWith('en') && message.style === 'indirect',
    );
    expect(scoresOf('bad', others).recall).toBeGreaterThanOrEqual(0.5);
  });

  test('97 in 100 messages that it calls bad or good are so, and it finds most wishes', () => {
    expect(scoresOf('bad', everything).precision).toBeGreaterThanOrEqual(0.97);
    expect(scoresOf('good', everything).precision).toBeGreaterThanOrEqual(0.99);
    expect(hintRate(everything)).toBeGreaterThanOrEqual(0.65);
  });
});

/** Largest share of messages that say nothing about the answer and get a verdict, and a hint. */
const MISHEARD = 0.015;
const MISHEARD_HINTS = 0.02;

test('what says nothing about the answer hardly ever gets a verdict', async () => {
  const scored = await scoresBy(readNextMessages(plainCorpus));
  const misheard = scored.filter(({ heard }) => heard.vote !== 0);
  const praised = misheard.filter(({ heard }) => heard.vote === 1);
  const hinted = misheard.filter(({ heard }) => heard.hint !== undefined);
  console.log(scoreTable(misheard));
  const said = misheard.map(({ message, heard }) => `${heard.vote} ${message.text} ${heard.hint ?? ''}`);
  expect(part(misheard.length, scored.length), said.join('\n')).toBeLessThan(MISHEARD);
  expect(part(hinted.length, scored.length)).toBeLessThan(MISHEARD_HINTS);
  expect(praised.length).toBeLessThanOrEqual(1);
});

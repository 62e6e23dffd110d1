import { beforeAll, describe, expect, test } from 'vitest';
import { createJudge } from '../../services/judge/judges/judges.ts';
import { assistant, turnCompleted, user } from '../../services/judge/testing/events.ts';
import { sampleAsk } from '../../shared/claw-nano/dialogues/ask.ts';
import { JudgeConfig } from '../../shared/config/judge.ts';
import { CLAW_NANO } from '../../shared/policy/model/model-folder.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import { type Corpus, corpora, type NextMessage, plainCorpus, readNextMessages } from './next-messages.ts';
import { hintRate, part, type Scored, scoresOf, scoreTable } from './scoring.ts';

/** Different requests that the demo's people may send next. */
const REQUESTS = 700;

/** What the judge that comes with claw-nano must reach on messages that nothing was trained on. */
const goals = {
  'next-messages': { precision: 0.97, direct: 0.9, indirect: 0.72, hints: 0.68, sarcasmAsPraise: 0 },
  'harder-messages': { precision: 0.97, direct: 0.87, indirect: 0.62, hints: 0.6, sarcasmAsPraise: 0 },
  'mixed-messages': { precision: 0.96, direct: 0.95, indirect: 0.55, hints: 0.57, sarcasmAsPraise: 0 },
  'everyday-messages': { precision: 0.94, direct: 0.9, indirect: 0.32, hints: 0.75, sarcasmAsPraise: 0 },
  'uncommon-messages': { precision: 0.94, direct: 0.78, indirect: 0.32, hints: 0.6, sarcasmAsPraise: 0 },
  'fresh-messages': { precision: 0.94, direct: 0.83, indirect: 0.5, hints: 0.6, sarcasmAsPraise: 0 },
  'later-messages': { precision: 0.86, direct: 0.68, indirect: 0.42, hints: 0.44, sarcasmAsPraise: 0 },
  'untouched-messages': { precision: 0.88, direct: 0.62, indirect: 0.33, hints: 0.37, sarcasmAsPraise: 0 },
  'unseen-messages': { precision: 0.97, direct: 0.88, indirect: 0.5, hints: 0.72, sarcasmAsPraise: 0 },
} as const satisfies Readonly<Record<Corpus, object>>;

/** In each language, over all corpora: least precision of complaints, and least share of direct complaints heard. */
const languages = {
  en: { precision: 0.97, direct: 0.9 },
  'en-nonnative': { precision: 0.98, direct: 0.94 },
  de: { precision: 0.95, direct: 0.85 },
  es: { precision: 0.94, direct: 0.83 },
  fr: { precision: 0.94, direct: 0.86 },
  pt: { precision: 0.95, direct: 0.83 },
  zh: { precision: 0.94, direct: 0.86 },
  ja: { precision: 0.97, direct: 0.86 },
} as const satisfies Readonly<Record<string, object>>;

const config = JudgeConfig.parse({ model: CLAW_NANO });
const plain: readonly NextMessage['style'][] = ['direct', 'polite', 'terse'];

/** What the judge that comes with claw-nano makes of each message. */
async function scoresBy(messages: readonly NextMessage[]): Promise<readonly Scored[]> {
  const judge = await createJudge(config);
  const scored: Scored[] = [];
  for (const [index, message] of messages.entries()) {
    const turn = turnCompleted(`turn-${index}`, {
      messages: [user(message.request)],
      answer: assistant(message.answer),
      next: [user(message.text)],
    });
    scored.push({ message, heard: await judge.vote(turn.data, 0, new AbortController().signal) });
  }
  await judge.close?.();
  return scored;
}

const scoredCorpora = new Map<Corpus, Promise<readonly Scored[]>>();

/** The scores of a corpus, which are made once: the judge takes seconds for each. */
function scoresOn(corpus: Corpus): Promise<readonly Scored[]> {
  const scored = scoredCorpora.get(corpus) ?? scoresBy(readNextMessages(corpus));
  scoredCorpora.set(corpus, scored);
  return scored;
}

describe.each(corpora)('%s, which trained nothing', (corpus) => {
  const goal = goals[corpus];
  let scored: readonly Scored[];
  beforeAll(async () => {
    scored = await scoresOn(corpus);
    console.log(scoreTable(scored));
  });
  const ofStyle = (...styles: readonly string[]) =>
    scored.filter(({ message }) => styles.includes(message.style));

  test.each(['bad', 'good'] as const)('what it calls %s is so', (label) => {
    expect(scoresOf(label, scored).precision).toBeGreaterThanOrEqual(goal.precision);
  });

  test('it hears complaints, direct and indirect', () => {
    expect(scoresOf('bad', ofStyle(...plain)).recall).toBeGreaterThanOrEqual(goal.direct);
    expect(scoresOf('bad', ofStyle('indirect')).recall).toBeGreaterThanOrEqual(goal.indirect);
  });

  test('it finds what is wished for', () => {
    expect(hintRate(scored)).toBeGreaterThanOrEqual(goal.hints);
  });

  test('no sarcasm is praise, no machine-written prompt a verdict', () => {
    const taken = ofStyle('sarcastic').filter(({ heard }) => heard.vote === 1).length;
    expect(part(taken, ofStyle('sarcastic').length) ?? 0).toBeLessThanOrEqual(goal.sarcasmAsPraise);
    expect(ofStyle('machine').filter(({ heard }) => heard.vote !== 0 && heard.vote !== null)).toEqual([]);
  });
});

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

test('a new request is no complaint about the answer before it', async () => {
  const random = createRandom('new requests');
  const requests = new Set<string>();
  while (requests.size < REQUESTS) requests.add(sampleAsk(random).text);
  const scored = await scoresBy(
    [...requests].map((text) => ({
      lang: 'en',
      style: 'task',
      label: 'neither',
      wish: [],
      request: 'Which pan do you recommend?',
      answer: 'A heavy pan of cast iron.',
      text,
    })),
  );
  const misheard = scored.filter(({ heard }) => heard.vote !== 0).map(({ message }) => message.text);
  expect(part(misheard.length, REQUESTS), misheard.join('\n')).toBeLessThan(0.01);
});

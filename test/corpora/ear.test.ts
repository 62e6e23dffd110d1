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
  'next-messages': { precision: 0.97, direct: 0.85, indirect: 0.65, hints: 0.65, sarcasmAsPraise: 0.05 },
  'harder-messages': { precision: 0.97, direct: 0.85, indirect: 0.6, hints: 0.58, sarcasmAsPraise: 0.05 },
  'mixed-messages': { precision: 0.93, direct: 0.95, indirect: 0.5, hints: 0.55, sarcasmAsPraise: 0.05 },
  'everyday-messages': { precision: 0.9, direct: 0.85, indirect: 0.4, hints: 0.65, sarcasmAsPraise: 0.05 },
  'fresh-messages': { precision: 0.92, direct: 0.8, indirect: 0.5, hints: 0.5, sarcasmAsPraise: 0.05 },
  'later-messages': { precision: 0.79, direct: 0.78, indirect: 0.55, hints: 0.45, sarcasmAsPraise: 0.05 },
  'untouched-messages': { precision: 0.8, direct: 0.5, indirect: 0.3, hints: 0.3, sarcasmAsPraise: 0.05 },
  'uncommon-messages': { precision: 0.78, direct: 0.8, indirect: 0.37, hints: 0.55, sarcasmAsPraise: 0.05 },
} as const satisfies Readonly<Record<Corpus, object>>;

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

describe.each(corpora)('%s, which trained nothing', (corpus) => {
  const goal = goals[corpus];
  let scored: readonly Scored[];
  beforeAll(async () => {
    scored = await scoresBy(readNextMessages(corpus));
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

/** Largest share of messages that say nothing about the answer and get a verdict, and a hint. */
const MISHEARD = 0.025;
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

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Judge } from '../../services/judge/judges/judge.ts';
import { createJudge } from '../../services/judge/judges/judges.ts';
import { assistant, turnCompleted, user } from '../../services/judge/testing/events.ts';
import { sampleAsk } from '../../shared/claw-nano/dialogues/ask.ts';
import { JudgeConfig } from '../../shared/config/judge.ts';
import { CLAW_NANO } from '../../shared/policy/model/model-folder.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import { type Corpus, corpora, type NextMessage, readNextMessages } from './next-messages.ts';
import { hintRate, part, type Scored, scoresOf, scoreTable } from './scoring.ts';

/** Different requests that the demo's people may send next. */
const REQUESTS = 700;

/** What the judge that comes with claw-nano must reach on messages that nothing was trained on. */
const goals = {
  'next-messages': { precision: 0.97, direct: 0.8, indirect: 0.5, hints: 0.6, sarcasmAsPraise: 0.05 },
  'harder-messages': { precision: 0.94, direct: 0.8, indirect: 0.5, hints: 0.55, sarcasmAsPraise: 0.05 },
} as const satisfies Readonly<Record<Corpus, object>>;

const config = JudgeConfig.parse({ model: CLAW_NANO });
const plain: readonly NextMessage['style'][] = ['direct', 'polite', 'terse'];

describe.each(corpora)('%s, which trained nothing', (corpus) => {
  const goal = goals[corpus];
  let judge: Judge;
  let scored: readonly Scored[];
  beforeAll(async () => {
    judge = await createJudge(config);
    const all: Scored[] = [];
    for (const [index, message] of readNextMessages(corpus).entries()) {
      const turn = turnCompleted(`turn-${index}`, {
        messages: [user(message.request)],
        answer: assistant(message.answer),
        next: [user(message.text)],
      });
      all.push({ message, heard: await judge.vote(turn.data, 0, new AbortController().signal) });
    }
    scored = all;
    console.log(scoreTable(scored));
  });
  afterAll(async () => judge?.close?.());
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
    expect(part(taken, ofStyle('sarcastic').length)).toBeLessThanOrEqual(goal.sarcasmAsPraise);
    expect(ofStyle('machine').filter(({ heard }) => heard.vote !== 0 && heard.vote !== null)).toEqual([]);
  });
});

test('a new request is no complaint about the answer before it', async () => {
  const random = createRandom('new requests');
  const requests = new Set<string>();
  while (requests.size < REQUESTS) requests.add(sampleAsk(random).text);
  const judge = await createJudge(config);
  const misheard: string[] = [];
  for (const [index, request] of [...requests].entries()) {
    const turn = turnCompleted(`request-${index}`, {
      messages: [user('Which pan do you recommend?')],
      answer: assistant('A heavy pan of cast iron.'),
      next: [user(request)],
    });
    const { vote } = await judge.vote(turn.data, 0, new AbortController().signal);
    if (vote !== 0) misheard.push(request);
  }
  await judge.close?.();
  expect(part(misheard.length, REQUESTS), misheard.join('\n')).toBeLessThan(0.01);
});

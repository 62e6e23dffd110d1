import { beforeAll, describe, expect, test } from 'vitest';
import { createJudge } from '../../services/judge/judges/judges.ts';
import { assistant, turnCompleted, user } from '../../services/judge/testing/events.ts';
import { JudgeConfig } from '../../shared/config/judge.ts';
import { CLAW_NANO } from '../../shared/policy/model/model-folder.ts';
import { type Corpus, type NextMessage, readNextMessages } from './next-messages.ts';
import { hintRate, part, type Scored, scoresOf, scoreTable } from './scoring.ts';

/** What the judge that comes with claw-nano must reach on messages that nothing was trained on. */
const goals = {
  'next-messages': { precision: 0.97, direct: 0.92, indirect: 0.75, hints: 0.72, sarcasmAsPraise: 0 },
  'harder-messages': { precision: 0.97, direct: 0.88, indirect: 0.66, hints: 0.62, sarcasmAsPraise: 0 },
  'mixed-messages': { precision: 0.96, direct: 0.95, indirect: 0.62, hints: 0.57, sarcasmAsPraise: 0 },
  'everyday-messages': { precision: 0.96, direct: 0.93, indirect: 0.4, hints: 0.8, sarcasmAsPraise: 0 },
  'uncommon-messages': { precision: 0.93, direct: 0.75, indirect: 0.4, hints: 0.69, sarcasmAsPraise: 0 },
  'fresh-messages': { precision: 0.96, direct: 0.87, indirect: 0.6, hints: 0.6, sarcasmAsPraise: 0 },
  'later-messages': { precision: 0.84, direct: 0.8, indirect: 0.42, hints: 0.65, sarcasmAsPraise: 0 },
  'untouched-messages': { precision: 0.92, direct: 0.6, indirect: 0.31, hints: 0.47, sarcasmAsPraise: 0 },
  'unseen-messages': { precision: 0.98, direct: 0.88, indirect: 0.58, hints: 0.72, sarcasmAsPraise: 0 },
  'varied-messages': { precision: 0.91, direct: 0.63, indirect: 0.53, hints: 0.39, sarcasmAsPraise: 0 },
} as const satisfies Readonly<Record<Corpus, object>>;

/** The judge needs 20 s for a corpus, and minutes on a busy machine. */
const PATIENCE_MS = 300_000;

const config = JudgeConfig.parse({ model: CLAW_NANO });
/** Styles of complaints that say it. */
export const plain: readonly NextMessage['style'][] = ['direct', 'polite', 'terse'];

/** What the judge that comes with claw-nano makes of each message. */
export async function scoresBy(messages: readonly NextMessage[]): Promise<readonly Scored[]> {
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
export function scoresOn(corpus: Corpus): Promise<readonly Scored[]> {
  const scored = scoredCorpora.get(corpus) ?? scoresBy(readNextMessages(corpus));
  scoredCorpora.set(corpus, scored);
  return scored;
}

/** Declares the tests of what the judge must reach on a corpus. */
export function testOn(corpus: Corpus): void {
  describe(`${corpus}, which trained nothing`, () => {
    const goal = goals[corpus];
    let scored: readonly Scored[];
    beforeAll(async () => {
      scored = await scoresOn(corpus);
      console.log(scoreTable(scored));
    }, PATIENCE_MS);
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
}

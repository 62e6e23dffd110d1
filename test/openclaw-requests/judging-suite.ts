import { describe, expect, test } from 'vitest';
import { judgePrompt } from '../../services/judge/judges/openai/prompt.ts';
import { readSignals } from '../../services/judge/judges/signals/signals.ts';
import { ownWordsOf } from '../../services/judge/own-words/own-words.ts';
import { assistant, turnCompleted, user } from '../../services/judge/testing/events.ts';
import { contentText, isHuman } from '../../shared/chat/message.ts';
import { userWords } from '../../shared/chat/normalise.ts';
import type { OpenClawRequests } from './requests.ts';

/** What OpenClaw writes beside a person's words. */
const marks =
  /\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-|\[Queued user|Runtime: agent|Continue the current task|INTERNAL_CONTEXT/;

const complaint = 'No, that is wrong. Please answer in one short sentence.';

/** What the judge reads in OpenClaw's requests. `load` is called when a test runs. */
export function judgingSuite(name: string, load: () => OpenClawRequests): void {
  describe(name, () => {
    test('what OpenClaw puts around words is neither judged nor a hint', () => {
      const bare = readSignals({ messages: [user('hi')], next: [user(complaint)] });
      expect(bare).toMatchObject({ vote: -1, hint: expect.stringMatching(/one short sentence/i) });
      const requests = Object.values(load()).flatMap((scenario) => scenario.requests);
      let wrapped = 0;
      for (const { messages } of requests.map(({ body }) => body))
        for (const message of messages.filter(isHuman)) {
          const text = contentText(message.content);
          const words = userWords(message);
          if (words === '' || words === text || text.split(words).length !== 2) continue;
          wrapped += 1;
          for (const lineEnd of ['\n', '\r\n']) {
            const next = user(text.replace(words, complaint).replaceAll('\n', lineEnd));
            expect(
              ownWordsOf([next]).map(({ words }) => words),
              text,
            ).toEqual([complaint]);
            expect(readSignals({ messages, next: [next] }), text).toEqual(bare);
            const turn = turnCompleted('t', { messages, answer: assistant('hello'), next: [next] });
            const shown = judgePrompt(turn.data, 0)[1]!.content;
            expect(shown).toContain(complaint);
            expect(shown).not.toMatch(marks);
          }
        }
      expect(wrapped).toBeGreaterThan(10);
    });
  });
}

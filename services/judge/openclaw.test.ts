import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type ChatMessage, contentText, isHuman } from '../../shared/chat/message.ts';
import { userWords } from '../../shared/chat/normalise.ts';
import { chatMessage } from '../../shared/events/chat-message.ts';
import { judgePrompt } from './judges/openai/prompt.ts';
import { readSignals } from './judges/signals/signals.ts';
import { personsWords } from './message-text.ts';
import { assistant, turnCompleted, user } from './test-events.ts';

/** Requests that the real OpenClaw client sent. They stand beside the checkout, not in it. */
const folder = new URL('../../../shared/fixtures/openclaw/', import.meta.url);
const isThere = existsSync(folder) || process.env.CLAWLOOP_REQUIRE_ALL === '1';
const Capture = z.object({
  requests: z.array(
    z.object({ body: z.looseObject({ messages: z.array(z.looseObject({ role: z.string() })) }) }),
  ),
});

/** What the client writes, beside a person's words. */
const marks =
  /\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-|\[Queued user|Runtime: agent|Continue the current task|INTERNAL_CONTEXT/;

const requests = (): readonly (readonly ChatMessage[])[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => Capture.parse(JSON.parse(readFileSync(new URL(name, folder), 'utf8'))).requests)
    .map(({ body }) =>
      body.messages.filter(({ role }) => role !== '(elided)').map((message) => chatMessage.parse(message)),
    );

const complaint = 'No, that is wrong. Please answer in one short sentence.';

test.runIf(isThere)('what OpenClaw puts around words is neither judged nor a hint', () => {
  const bare = readSignals({ messages: [user('hi')], next: [user(complaint)] });
  expect(bare).toMatchObject({ vote: -1, hint: expect.stringContaining('one short sentence') });
  let wrapped = 0;
  for (const messages of requests())
    for (const message of messages.filter(isHuman)) {
      const text = contentText(message.content);
      const words = userWords(message);
      if (words === '' || words === text || text.split(words).length !== 2) continue;
      wrapped += 1;
      for (const lineEnd of ['\n', '\r\n']) {
        const next = user(text.replace(words, complaint).replaceAll('\n', lineEnd));
        expect(personsWords([next]), text).toEqual([complaint]);
        expect(readSignals({ messages, next: [next] }), text).toEqual(bare);
        const turn = turnCompleted('t', { messages, answer: assistant('hello'), next: [next] });
        const shown = judgePrompt(turn.data, 0)[1]!.content;
        expect(shown).toContain(complaint);
        expect(shown).not.toMatch(marks);
      }
    }
  expect(wrapped).toBeGreaterThan(10);
});

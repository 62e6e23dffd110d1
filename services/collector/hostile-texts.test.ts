import { expect, test } from 'vitest';
import type { ChatMessage } from '../../shared/chat/message.ts';
import { expectLinear } from '../../test/hostile/growth.ts';
import { hostileTexts } from '../../test/hostile/texts.ts';
import { attribute } from './attribute.ts';
import { assistant, callsTool, interaction, system, toolResult, user } from './testing/events.ts';
import { runFold } from './testing/run-fold.ts';

const parts = (...texts: readonly string[]): ChatMessage => ({
  role: 'user',
  content: texts.map((text) => ({ type: 'text', text })),
});

/** Places where a client can put text. */
const requests: Readonly<Record<string, (text: string) => readonly ChatMessage[]>> = {
  'the words': (text) => [user(text)],
  'a part of the words': (text) => [parts('a', text)],
  'the only part': (text) => [parts(text)],
  'the system text': (text) => [system(text), user('hi')],
  'an earlier answer': (text) => [user('hi'), assistant(text), user('and?')],
  'a call of a tool': (text) => [user('hi'), callsTool('run', text), toolResult('a')],
  'the result of a tool': (text) => [user('hi'), callsTool('run'), toolResult(text)],
  'a history to be summarised': (text) => [user(`<conversation>\n[User]: ${text}`)],
  'a history to be recapped': (text) => [user(`{"previousRecap":${JSON.stringify(text)}`)],
};

test.each(Object.entries(requests))('attribution of %s takes time in proportion to it', (name, messages) => {
  for (const [kind, text] of hostileTexts)
    expectLinear(`${name}, ${kind}`, (size) => {
      const hostile = interaction({ id: 'a', messages: messages(text(size)), answer: text(size) });
      const next = interaction({
        id: 'b',
        messages: [...messages(text(size)), hostile.data.answer, user('ok')],
        answer: 'b',
      });
      runFold(attribute, [hostile, next], {});
    });
});

test('a request of many megabytes is attributed quickly', () => {
  for (const text of [
    `Runtime: agent=${' | '.repeat(1_000_000)}\nx`,
    `x${'-'.repeat(3_000_000)}x`,
    `x${'\n'.repeat(3_000_000)}x`,
    `${' '.repeat(3_000_000)}x`,
  ]) {
    const start = process.threadCpuUsage();
    const { emitted } = runFold(
      attribute,
      [interaction({ id: 'a', messages: [parts(text)], answer: 'x' })],
      {},
    );
    expect(emitted).toEqual([]);
    expect(process.threadCpuUsage(start).user / 1000).toBeLessThan(5000); // quadratic time would take hours
  }
});

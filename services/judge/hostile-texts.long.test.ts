import { expect, test } from 'vitest';
import type { ChatMessage } from '../../shared/chat/message.ts';
import { sentenceCount } from '../../shared/wishes/text-form.ts';
import { expectLinear } from '../../test/hostile/growth.ts';
import { hostileTexts } from '../../test/hostile/texts.ts';
import { neutralise } from './judges/openai/fence.ts';
import { hintPrompt } from './judges/openai/hint-prompt.ts';
import { parseHint } from './judges/openai/parse-hint.ts';
import { parseVerdict } from './judges/openai/parse-verdict.ts';
import { judgePrompt } from './judges/openai/prompt.ts';
import { clausesOf, normalise } from './judges/signals/clauses.ts';
import { lexicalEvidence } from './judges/signals/evidence.ts';
import { isRepeatedRequest } from './judges/signals/repeated-request.ts';
import { rules } from './judges/signals/rules.ts';
import { readSignals } from './judges/signals/signals.ts';
import { toolOutcome } from './judges/signals/tool-result.ts';
import { beforePassedOn } from './own-words/passed-on.ts';
import { firstSpan } from './own-words/quoted-text.ts';
import { unwrapped } from './own-words/wrapped-words.ts';
import { observationsOn } from './reaction.ts';
import { assistant, tool, turnCompleted, user } from './testing/events.ts';

/** Everything in this service that reads a text of a client, of a tool or of a model. */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  'signals, of a person': (text) => readSignals({ messages: [user(text)], next: [user(text)] }),
  'signals, of a text in parts': (text) => {
    const message: ChatMessage = { role: 'user', content: [{ type: 'text', text }] };
    return readSignals({ messages: [message], next: [message] });
  },
  'signals, of a tool': (text) => readSignals({ messages: [user('a')], next: [tool(text)] }),
  'the prompt of a vote': (text) =>
    judgePrompt(
      { turnId: 't', messages: [user(text)], answer: assistant(text), next: [user(text), tool(text)] },
      0,
    ),
  'the prompt of a hint': (text) =>
    hintPrompt({ turnId: 't', messages: [user(text)], answer: assistant(text), next: [user(text)] }, 0),
  'a verdict': parseVerdict,
  'a hint': (text) => parseHint(`[HINT_START]${text}[HINT_END]\n\\boxed{1}`),
  // parts of the functions above, with longer texts than they receive there
  fence: neutralise,
  wrappers: unwrapped,
  'marks of quotations': firstSpan,
  'passed on': beforePassedOn,
  'result of a tool': (text) => toolOutcome(tool(text)),
  'what a turn shows': (text) =>
    observationsOn({ messages: [user(text)], answer: assistant(text), next: [user(text)] }),
  sentences: sentenceCount,
};

test.each(Object.entries(readers))('%s: time is linear in the length of any text', (name, read) => {
  for (const [kind, text] of hostileTexts) expectLinear(`${name}, ${kind}`, (size) => void read(text(size)));
});

/** The same of words that are bounded before they come here. */
const rulesOfWords: Readonly<Record<string, (words: string) => unknown>> = {
  clauses: clausesOf,
  normalise,
  'all rules': lexicalEvidence,
  'the same request': (words) => isRepeatedRequest(words, words),
};

test.each(Object.entries(rulesOfWords))('%s: time is linear in the number of any words', (name, read) => {
  for (const [kind, text] of hostileTexts)
    expectLinear(`${name}, ${kind}`, (size) => void read(text(size)), [2_000, 8_000]);
});

/** Words from a rule: the worst texts for a rule consist of its words. */
const wordsOf = ({ source }: RegExp): string => (source.match(/[a-z]{2,}/g) ?? ['a']).join(' ');

test.each(rules.map((rule, index) => [`${index} ${rule.name}`, rule] as const))(
  'rule %s: time grows as the text does, and a clause takes no time',
  (name, { pattern, unless }) => {
    const own = wordsOf(pattern);
    const texts = [
      ...own
        .split(' ')
        .slice(0, 24)
        .map((word) => `${word} `),
      `${own} `,
      `${own}, `,
      'so just still ',
      'a ',
    ];
    for (const piece of texts) {
      const read = (size: number) => {
        for (const { text } of clausesOf(piece.repeat(Math.ceil(size / piece.length)))) {
          pattern.test(text);
          unless?.test(text);
        }
      };
      expectLinear(`${name}, ${JSON.stringify(piece.slice(0, 40))}`, read);
      const clause = normalise(piece.repeat(300)).slice(0, 300);
      const start = process.threadCpuUsage();
      for (let times = 0; times < 10; times += 1) pattern.test(`${clause.slice(0, 299 - times)}~`);
      expect(process.threadCpuUsage(start).user / 1000, `${name}, ${piece}`).toBeLessThan(500); // ms for ten clauses
    }
  },
);

test('a turn of any size is judged quickly', () => {
  for (const text of [
    '-'.repeat(3_000_000),
    '\n'.repeat(3_000_000),
    '„'.repeat(3_000_000),
    ' ‘'.repeat(1_500_000),
  ]) {
    const { data } = turnCompleted('t', {
      messages: [user(`x${text}x`)],
      next: [user(`x${text}x`), tool(text)],
    });
    const start = process.threadCpuUsage();
    expect(readSignals(data).vote).toBe(0);
    expect(process.threadCpuUsage(start).user / 1000).toBeLessThan(1000); // by the square it takes hours
  }
});

import { expect, test } from 'vitest';
import { generateDialogue } from '../claw-nano/dialogues/dialogue.ts';
import { createRandom } from '../policy/model/random.ts';
import { isMeasured, wishMet } from './measure.ts';
import type { WishKind } from './wishes.ts';

const cases: readonly (readonly [WishKind, string, number])[] = [
  ['list', 'Take these:\n- rope\n- tent', 1],
  ['list', 'Take these:\n1. rope\n2. tent\n3. light', 1],
  ['list', '买这些：\n1、米\n2、面', 1],
  ['list', 'Take a rope - and a tent.', 0],
  ['no-list', 'Take a rope.\n- Bring a tent.', 0.5],
  ['no-list', 'It takes 3.5 hours.', 1],
  ['steps', '- rope\n- tent', 0],
  ['steps', '1. Boil.\n2. Stir.', 1],
  ['greeting', 'Hello! Rice takes a while.', 1],
  ['greeting', '**Hi Ann,** rice takes a while.', 1],
  ['greeting', 'Hinges need oil.', 0],
  ['greeting', 'Guten Tag! Reis braucht Zeit.', 1],
  ['greeting', '¡Hola! El arroz tarda.', 1],
  ['greeting', 'Bonjour, le riz prend du temps.', 1],
  ['greeting', 'Olá! O arroz demora.', 1],
  ['greeting', '你好！米饭需要一会儿。', 1],
  ['greeting', 'こんにちは。お米は時間がかかります。', 1],
  ['no-greeting', 'Say hello to your neighbours.', 1],
  ['closing', 'Boil it. I hope this helps!', 1],
  ['closing', 'Koche es. Viel Erfolg!', 1],
  ['closing', 'Cuécelo. ¡Buena suerte!', 1],
  ['closing', '煮一下。希望这对你有帮助！', 1],
  ['no-closing', 'I hope this helps. Boil it.', 1],
  ['one-sentence', 'Boil it for ten minutes.', 1],
  ['one-sentence', 'Boil it. Stir it.', 0.5],
  ['one-sentence', 'Use e.g. a pot of 3.5 litres', 1],
  ['one-sentence', '煮。再搅拌。', 0.5],
  ['one-sentence', '- rope\n- tent\n- light\n- map', 0.25],
  ['no-apology', 'Sorry, I was wrong.', 0],
  ['no-apology', 'Es tut mir leid.', 0],
  ['no-apology', '很抱歉。', 0],
  ['emoji', 'Fine 🙂', 1],
  ['no-emoji', 'Take 2 of 3 (© 2020), 5 → 6.', 1],
  ['no-questions', 'Boil it. Do you have a pot?', 0],
  ['no-questions', '你有锅吗？', 0],
  ['no-questions', 'Do you have a pot? Boil it.', 1],
  ['only-code', '```ts\nlet a = 1;\n```', 1],
  ['only-code', 'let me explain', 0],
  ['explain-code', '```ts\nlet a = 1;\n```', 0],
  ['example', 'Use a pot, e.g. a small one.', 1],
  ['no-markdown', '**Boil** it.', 0],
  ['no-markdown', 'Boil it for 2 * 3 minutes.', 1],
];

test.each(cases)('%s in %j: %d', (kind, answer, degree) => {
  expect(wishMet(kind, answer)).toBeCloseTo(degree, 10);
});

test('lengths are measured relative to other answers', () => {
  const answer = 'x'.repeat(100);
  expect(wishMet('shorter', answer, 100)).toBe(0.5);
  expect(wishMet('shorter', answer, 300)).toBe(0.75);
  expect(wishMet('longer', answer, 300)).toBe(0.25);
});

test('an empty answer meets no wish, and a tone is not measured', () => {
  expect(wishMet('no-list', ' \n')).toBe(0);
  expect(wishMet('shorter', '')).toBe(0);
  expect(wishMet('formal', 'Sir, boil it.')).toBeUndefined();
  expect(isMeasured('same-language')).toBe(false);
});

test('the measures agree with the style of an answer', () => {
  const random = createRandom('measures');
  const turns = Array.from({ length: 400 }, () => generateDialogue(random).turns).flat();
  const styled = turns.flatMap(({ kind, answer, style }) =>
    kind === 'topic' && style !== undefined ? [{ answer, style }] : [],
  );
  expect(styled.length).toBeGreaterThan(200);
  const agreement = (kind: WishKind, trait: 'list' | 'greeting' | 'closing') =>
    styled.filter(({ answer, style }) => wishMet(kind, answer)! >= 0.5 === style[trait]).length /
    styled.length;
  expect(agreement('list', 'list')).toBeGreaterThan(0.98);
  expect(agreement('greeting', 'greeting')).toBeGreaterThan(0.98);
  expect(agreement('closing', 'closing')).toBeGreaterThan(0.9);
});

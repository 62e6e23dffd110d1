import { expect, test } from 'vitest';
import { openEar } from '../../../services/judge/ear/open-ear.ts';
import { listen } from '../../../services/judge/judges/ear/ear.ts';
import { praise } from '../../e2e/demo/talk.ts';
import { tastes } from './tastes.ts';

const answers = [
  'For a city trip, pack good shoes, a city map and some cash.',
  'Hi! For a city trip, pack good shoes, a city map and some cash.',
  'For a city trip, pack good shoes, a city map and some cash. Good shoes matter most.',
  'For a city trip, pack good shoes, a city map and some cash. Take care!',
  'Here is what to pack:\n- good shoes\n- a city map',
  'Hello! Here is what to pack:\n1. good shoes\n2. a city map',
  'Here is what to pack:\n- good shoes\n- a city map\nI hope this helps!',
  '',
] as const;

test.each([
  ['bare list', [4]],
  ['one sentence', [0]],
  ['matter-of-fact', [0, 2]],
])('%s is met by the right answers', (name, met) => {
  const taste = tastes.find((one) => one.name === name)!;
  const found = [...answers.keys()].filter((index) => taste.complaints(answers[index]!).length === 0);
  expect(found).toEqual(met);
});

const ear = await openEar();
const said = (content: string) =>
  listen(
    {
      messages: [{ role: 'user', content: 'What should I pack?' }],
      next: [{ role: 'user', content }],
    },
    ear,
  );

/** No hint can express this wish. */
const WITHOUT_WISH = 'That is no answer.';

test('the judge recognises every complaint, every wish as a hint, and all praise', () => {
  for (const complaint of tastes.flatMap(({ complaints }) =>
    answers.flatMap((answer) => complaints(answer)),
  )) {
    const hint = complaint === WITHOUT_WISH ? {} : { hint: expect.stringMatching(/.{10}/) };
    expect(said(complaint), complaint).toMatchObject({ vote: -1, ...hint });
  }
  for (const words of praise) expect(said(words), words).toMatchObject({ vote: 1 });
});

import { test } from 'vitest';
import { describeWithMiniWob } from './describe-with-miniwob.ts';
import { expectSolversEarnOne } from './earn-one.ts';

describeWithMiniWob('scripted solvers of MiniWoB++ pages', () => {
  test('twelve solvers that see the text of the page earn 1, with 2 seeds each', () =>
    expectSolversEarnOne(2));
});

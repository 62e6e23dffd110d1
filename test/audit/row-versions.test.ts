import { expect, test } from 'vitest';
import { knownRowsVersion, rowsVersionOf } from '../../shared/log/row-versions.ts';
import { folds } from './small-log.ts';

test('commands that read rows without their fold know the version of each', () => {
  expect(folds.map(([group]) => [group, knownRowsVersion(group)])).toEqual(
    folds.map(([group, fold]) => [group, rowsVersionOf(fold)]),
  );
});

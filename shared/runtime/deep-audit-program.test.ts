import { expect, test } from 'vitest';
import { progress } from './deep-audit-program.ts';

test('progress is printed every three seconds, and not for less', () => {
  const lines: string[] = [];
  let now = 1_000;
  const report = progress(
    (line) => lines.push(line),
    () => now,
  );
  for (let records = 1; records <= 8; records++) {
    now += 1_000;
    report('judge', records);
  }
  expect(lines).toEqual(['judge: 3 records folded so far', 'judge: 6 records folded so far']);
});

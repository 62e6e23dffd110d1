import { expect, test } from 'vitest';
import { progress } from './deep-audit-program.ts';

test('progress is told every three seconds, and never of what takes less', () => {
  const lines: string[] = [];
  let now = 1_000;
  const told = progress(
    (line) => lines.push(line),
    () => now,
  );
  for (let records = 1; records <= 8; records++) {
    now += 1_000;
    told('judge', records);
  }
  expect(lines).toEqual(['judge: 3 records folded so far', 'judge: 6 records folded so far']);
});

import { expect, test } from 'vitest';
import { drawCurve } from './curve.ts';
import { runSeed } from './run-seed.ts';
import { judgeRun } from './verdict.ts';

const MINUTES = 60_000;
const SESSIONS = 32;
const print = (line: string) => console.log(line);

test(
  'answers meet the taste with learning, and do not without; audit and replay agree',
  async () => {
    const common = { seed: 1, sessions: SESSIONS, kill: false, print };
    const reports = [
      await runSeed({ ...common, learning: true }),
      await runSeed({ ...common, learning: false }),
    ];
    const { lines, passed } = judgeRun(reports);
    console.log(lines.join('\n'));
    expect(drawCurve(reports, SESSIONS)).toContain('<svg');
    expect(passed, lines.join('\n')).toBe(true);
  },
  15 * MINUTES,
);

import type { BodySize } from './bodies.ts';
import type { Pace } from './engine.ts';

/** One way of asking. `ms`: of one round at one server. */
export type LoadCase = {
  readonly size: BodySize;
  readonly stream: boolean;
  readonly atOnce: number;
  readonly pace: Pace;
  readonly ms: number;
  readonly rounds: number;
};

/** With an engine that takes no time, the overhead of the server shows most. */
const atOnce: Pace = { tokens: 16, firstTokenMs: 0, tokenMs: 0 };
const ROUND_MS = 2_000;

/** As many streams as one engine may have open; each lasts some seconds. */
const STREAMS = 200;
const paced: Pace = { tokens: 50, firstTokenMs: 200, tokenMs: 25 };
const longer: Pace = { tokens: 60, firstTokenMs: 500, tokenMs: 50 };

export const cases: readonly LoadCase[] = [
  ...(['small', 'large'] as const).flatMap((size) =>
    [false, true].flatMap((stream) =>
      [1, 16, 64].map((many) => ({ size, stream, atOnce: many, pace: atOnce, ms: ROUND_MS, rounds: 3 })),
    ),
  ),
  { size: 'small', stream: true, atOnce: STREAMS, pace: paced, ms: 4_000, rounds: 2 },
  { size: 'large', stream: true, atOnce: STREAMS, pace: longer, ms: 4_000, rounds: 2 },
];

import { talk } from '../../e2e/demo/talk.ts';
import { type Evaluation, evaluate } from './evaluate.ts';
import { type Loop, type LoopOptions, type Method, openLoop } from './loop.ts';
import type { LearningModel } from './model.ts';
import type { BenchTaste } from './tastes.ts';

/** Length of a chat with one person, in sessions. */
export type Lengths = {
  /** at least this many; the curves show these */
  readonly curve: number;
  /** the person gives up if the taste was not met by then */
  readonly patience: number;
  /** held-out prompts per point of the curve */
  readonly pointPrompts: number;
  /** held-out answers at the start and at the end */
  readonly endAnswers: number;
};

export const wholeLengths: Lengths = { curve: 24, patience: 32, pointPrompts: 32, endAnswers: 128 };

export type CellKey = { readonly method: Method; readonly taste: string; readonly seed: number };

export type Point = { readonly session: number; readonly version: number; readonly met: number };

export type CellReport = CellKey & {
  readonly points: readonly Point[];
  /** of each session: whether the first answer met the taste */
  readonly firstMet: readonly boolean[];
  /** sessions until three in a row met it; null: not within the patience */
  readonly untilMet: number | null;
  /** share of the first answers that met it in the three times as many sessions after that */
  readonly stayed: number | null;
  readonly start: Evaluation;
  readonly end: Evaluation;
  readonly versions: number;
  readonly rejected: number;
  /** facts by type */
  readonly facts: Readonly<Record<string, number>>;
  /** of the last version */
  readonly digest: string | null;
  readonly fingerprint: string;
  readonly seconds: number;
};

const ROW = 3;

/**
 * Chats until the taste was met three times in a row, then three times as long; at least as long as the
 * curve.
 */
export async function runCell(
  model: LearningModel,
  taste: BenchTaste,
  { method, seed, settings = {} }: Pick<CellKey, 'method' | 'seed'> & Partial<Pick<LoopOptions, 'settings'>>,
  lengths: Lengths,
  hooks: { readonly signal: AbortSignal; readonly onSession: (session: number, of: number) => void },
): Promise<CellReport> {
  const began = performance.now();
  const loop = openLoop(model, { method, seed: `${taste.name}/${seed}`, settings });
  try {
    const start = evaluate(loop, taste, seed, lengths.endAnswers);
    const points: Point[] = [];
    const look = (session: number): void => {
      const version = loop.served();
      const known = points.at(-1)?.version === version ? points.at(-1)!.met : undefined;
      const met = known ?? evaluate(loop, taste, seed, lengths.pointPrompts).met;
      points.push({ session, version, met });
    };
    look(0);
    const firstMet: boolean[] = [];
    while (firstMet.length < sessionsOf(firstMet, lengths)) {
      hooks.signal.throwIfAborted();
      const session = firstMet.length + 1;
      firstMet.push(await talk(taste, { seed, session }, loop.chat));
      await loop.settle();
      if (session <= lengths.curve) look(session);
      hooks.onSession(session, sessionsOf(firstMet, lengths));
    }
    const untilMet = untilThreeInARow(firstMet);
    return {
      method,
      taste: taste.name,
      seed,
      points,
      firstMet,
      untilMet,
      start,
      stayed: untilMet === null ? null : share(firstMet.slice(untilMet, 4 * untilMet)),
      end: evaluate(loop, taste, seed, lengths.endAnswers),
      ...outcomeOf(loop),
      fingerprint: model.fingerprint,
      seconds: Math.round((performance.now() - began) / 100) / 10,
    };
  } finally {
    await loop.close();
  }
}

const outcomeOf = (loop: Loop) => {
  const facts = loop.counts();
  return {
    versions: facts['policy.promoted'] ?? 0,
    rejected: facts['policy.rejected'] ?? 0,
    facts,
    digest: loop.digest() ?? null,
  };
};

function sessionsOf(firstMet: readonly boolean[], { curve, patience }: Lengths): number {
  const met = untilThreeInARow(firstMet);
  if (met === null) return patience;
  return Math.max(curve, 4 * met);
}

export function untilThreeInARow(firstMet: readonly boolean[]): number | null {
  const index = firstMet.findIndex(
    (_, at) => at >= ROW - 1 && !firstMet.slice(at - ROW + 1, at + 1).includes(false),
  );
  return index < 0 ? null : index + 1;
}

export const share = (met: readonly boolean[]): number =>
  Number((met.filter(Boolean).length / Math.max(1, met.length)).toFixed(4));

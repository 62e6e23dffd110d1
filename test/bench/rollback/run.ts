import type { Judge } from '../../../services/judge/judges/judge.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { LearningPaused } from '../../../shared/events/learning-paused.ts';
import { LearningResumed } from '../../../shared/events/learning-resumed.ts';
import { PolicyRolledBack } from '../../../shared/events/policy-rolled-back.ts';
import type { SampleReady } from '../../../shared/events/sample-ready.ts';
import { addTally, noTurns, type Tally } from '../../../shared/lineage/evidence.ts';
import type { Person } from '../../people/people.ts';
import { type Client, holdSession } from '../../people/session.ts';
import { type Loop, openLoop } from '../learning/loop.ts';
import type { LearningModel } from '../learning/model.ts';
import { type BadKind, badKindNames, plant } from './plant.ts';

/** The outcome of one planted candidate. */
export type BadOutcome = {
  readonly kind: BadKind;
  readonly seed: number;
  /** why the gate refuses it; null: it accepts a part of the step */
  readonly refused: string | null;
  /** share of the step that the gate accepts */
  readonly part: number;
  /** of the automatic rollback once it is served without a gate; null: it was not rolled back */
  readonly rollback: Pick<
    NonNullable<PolicyRolledBack['data']['figures']>,
    'turns' | 'bad' | 'turnsBefore' | 'badBefore' | 'evidence'
  > | null;
  /** verdicts on its answers */
  readonly seen: Tally;
  /** sessions that the person chatted with it */
  readonly sessions: number;
};

/** The outcome of the candidates from a person's true verdicts. */
export type GoodOutcome = {
  readonly person: string;
  readonly seed: number;
  readonly promoted: number;
  readonly refused: number;
  readonly rolledBack: number;
  readonly verdicts: number;
  readonly sessions: number;
};

export type Lengths = {
  /** sessions before the first planted candidate, and between two of them */
  readonly before: number;
  readonly between: number;
  /** sessions after which a planted candidate counts as not rolled back */
  readonly patience: number;
  /** sessions of a person whose candidates are good */
  readonly good: number;
};

type Bench = { readonly model: LearningModel; readonly judge: Judge };
type Hooks = { readonly signal: AbortSignal; readonly onSession: (share: number) => void };

const command = (id: string) => ({ id, source: 'clawloop/bench', time: '2026-01-01T00:00:00Z' });
const adapter = 'default';
const clientOf = (loop: Loop): Client => ({
  ask: loop.answer,
  rate: async (id, score) => loop.rate(id, score),
});

/** Plants one bad candidate after the other, each on the current version of the person's verdicts. */
export async function runBad(
  { model, judge }: Bench,
  person: Person,
  { seed, lengths }: { readonly seed: number; readonly lengths: Lengths },
  { signal, onSession }: Hooks,
): Promise<readonly BadOutcome[]> {
  const known: SampleReady['data'][] = [];
  const rollbacks: PolicyRolledBack[] = [];
  const verdicts = new Map<number, Tally>();
  let next: BadKind | undefined;
  let planted:
    | { readonly version: number; readonly refused: string | null; readonly part: number }
    | undefined;
  const loop = openLoop(model, {
    method: 'combine',
    seed: `rollback/${seed}`,
    settings: { rollbackPause: 1000 },
    judge,
    onEvent: (event) => {
      if (event.type === 'sample.ready') known.push(event.data);
      if (event.type === 'policy.rolled-back') rollbacks.push(event);
      if (event.type === 'verdict.recorded') {
        const { version, score } = event.data;
        verdicts.set(
          version,
          addTally(verdicts.get(version) ?? noTurns, { turns: 1, bad: score < 0 ? 1 : 0 }),
        );
      }
    },
    replace: async (input, honest) => {
      if (next === undefined || planted !== undefined) return honest;
      const { candidate, gated } = await plant(model.engine, next, { input, honest, known });
      const refused = gated.gate.passed ? null : gated.gate.reason;
      planted = { version: input.batch.n, refused, part: gated.candidateScale };
      return candidate;
    },
  });
  let session = 0;
  const total = lengths.before + badKindNames.length * (lengths.between + lengths.patience);
  const chat = async () => {
    signal.throwIfAborted();
    await holdSession(person, { seed, session: ++session }, clientOf(loop));
    await loop.settle();
    onSession(Math.min(1, session / total));
  };
  const outcomes: BadOutcome[] = [];
  try {
    for (let i = 0; i < lengths.before; i++) await chat();
    for (const kind of badKindNames) {
      [next, planted] = [kind, undefined];
      const before = rollbacks.length;
      while (planted === undefined) await chat();
      const { version, refused, part } = planted as NonNullable<typeof planted>;
      next = undefined;
      // no successor hides the behaviour of the planted version
      loop.say(LearningPaused.create({ ...command(`pause ${seed} ${kind}`), data: { adapter } }));
      let sessions = 0;
      for (; rollbacks.length === before && sessions < lengths.patience; sessions++) await chat();
      const rollback = rollbacks[before];
      if (rollback === undefined) {
        const data = { adapter, from: version, to: loop.lineage(version)[1] ?? 0 };
        loop.say(PolicyRolledBack.create({ ...command(`back ${seed} ${kind}`), data }));
      }
      const { turns, bad, turnsBefore, badBefore, evidence } = rollback?.data.figures ?? {};
      outcomes.push({
        kind,
        seed,
        refused,
        part,
        sessions,
        seen: verdicts.get(version) ?? noTurns,
        // a rollback may go further back than its parent
        rollback:
          rollback === undefined
            ? null
            : ({ turns, bad, turnsBefore, badBefore, evidence } as BadOutcome['rollback']),
      });
      loop.say(LearningResumed.create({ ...command(`resume ${seed} ${kind}`), data: { adapter } }));
      for (let i = 0; i < lengths.between; i++) await chat();
    }
    return outcomes;
  } finally {
    await loop.close();
  }
}

/** A person with only true verdicts, so that every candidate is a good one. */
export async function runGood(
  { model, judge }: Bench,
  person: Person,
  { seed, lengths }: { readonly seed: number; readonly lengths: Lengths },
  { signal, onSession }: Hooks,
): Promise<GoodOutcome> {
  const counts: Partial<Record<ClawLoopEvent['type'], number>> = {};
  const loop = openLoop(model, {
    method: 'combine',
    seed: `rollback/${person.name}/${seed}`,
    settings: {},
    judge,
    onEvent: ({ type }) => {
      counts[type] = (counts[type] ?? 0) + 1;
    },
  });
  try {
    for (let session = 1; session <= lengths.good; session++) {
      signal.throwIfAborted();
      await holdSession(person, { seed, session }, clientOf(loop));
      await loop.settle();
      onSession(session / lengths.good);
    }
  } finally {
    await loop.close();
  }
  return {
    person: person.name,
    seed,
    promoted: counts['policy.promoted'] ?? 0,
    refused: counts['policy.rejected'] ?? 0,
    rolledBack: counts['policy.rolled-back'] ?? 0,
    verdicts: counts['verdict.recorded'] ?? 0,
    sessions: lengths.good,
  };
}

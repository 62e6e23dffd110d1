import { badKindNames, badKinds } from './plant.ts';
import type { BadOutcome, GoodOutcome } from './run.ts';

/** 95 % confidence interval of a share (Clopper and Pearson 1934), by bisection of the binomial's tails. */
export function confidence(successes: number, trials: number): readonly [low: number, high: number] {
  const atLeast = (rate: number) => tail(successes, trials, rate);
  const atMost = (rate: number) => 1 - tail(successes + 1, trials, rate);
  return [
    successes === 0 ? 0 : root((rate) => atLeast(rate) < 0.025),
    successes === trials ? 1 : root((rate) => atMost(rate) > 0.025),
  ];
}

/** Probability of at least that many successes. */
function tail(least: number, trials: number, rate: number): number {
  let term = (1 - rate) ** trials;
  let below = 0;
  for (let k = 0; k < least; k++) {
    below += term;
    term *= ((trials - k) / (k + 1)) * (rate / (1 - rate));
  }
  return 1 - below;
}

/** The rate up to which the condition holds. */
function root(holds: (rate: number) => boolean): number {
  let [low, high] = [0, 1];
  for (let i = 0; i < 50; i++) {
    const middle = (low + high) / 2;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

export function rollbackTables(bad: readonly BadOutcome[], good: readonly GoodOutcome[]): string {
  const rows = badKindNames.map((kind) => {
    const own = bad.filter((one) => one.kind === kind);
    const stopped = own.filter(({ refused }) => refused !== null);
    const reasons = [...new Set(stopped.map(({ refused }) => refused))].join(', ');
    const parts = own
      .flatMap(({ refused, part }) => (refused === null ? [`${Math.round(8 * part)}/8`] : []))
      .join(', ');
    const back = own.flatMap(({ rollback }) => (rollback === null ? [] : [rollback]));
    const turns = own.map(({ seen }) => `${seen.bad} of ${seen.turns}`).join(', ');
    const before = back.map((one) => `${one.badBefore} of ${one.turnsBefore}`).join(', ');
    const either = own.filter(({ refused, rollback }) => refused !== null || rollback !== null).length;
    return [
      kind,
      badKinds[kind],
      `${stopped.length} of ${own.length}${reasons === '' ? '' : ` (${reasons})`}`,
      parts === '' ? '-' : parts,
      `${back.length} of ${own.length}`,
      turns === '' ? '-' : turns,
      before === '' ? '-' : before,
      `${either} of ${own.length}`,
    ];
  });
  const badTable = table(
    [
      'bad candidate',
      'made by',
      'stopped by the gate',
      'else: part of the step that passes',
      'without a gate: rolled back',
      'bad verdicts on it',
      'before it',
      'stopped or rolled back',
    ],
    rows,
  );
  const goodTable = table(
    ['person', 'sessions', 'verdicts', 'candidates refused by the gate', 'promoted', 'rolled back'],
    good.map((one) => [
      `${one.person}, seed ${one.seed}`,
      ...[one.sessions, one.verdicts, one.refused, one.promoted, one.rolledBack].map(String),
    ]),
  );
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const caught = bad.filter(({ refused, rollback }) => refused !== null || rollback !== null).length;
  const [promoted, rolledBack] = [
    sum(good.map((one) => one.promoted)),
    sum(good.map((one) => one.rolledBack)),
  ];
  const back = bad.filter(({ rollback }) => rollback !== null).length;
  return [
    badTable,
    `Stopped or rolled back: ${caught} of ${bad.length} bad candidates (${interval(caught, bad.length)}); by verdicts alone ${back} of ${bad.length} (${interval(back, bad.length)}).`,
    goodTable,
    `Rolled back although good: ${rolledBack} of ${promoted} (${interval(rolledBack, promoted)}).`,
  ].join('\n\n');
}

function interval(successes: number, trials: number): string {
  if (trials === 0) return 'none';
  const [low, high] = confidence(successes, trials);
  return `95 % confidence: ${Math.round(100 * low)} to ${Math.round(100 * high)} %`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const ruler = head.map((_, index) => (index < 2 ? '---' : '---:'));
  return [head, ruler, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

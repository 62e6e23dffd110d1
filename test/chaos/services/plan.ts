import { createRandom, type Random } from '../histories/random.ts';

/** embedded: SQLite and queues in the process; brokers: Kafka and Redis. */
export type Mode = 'embedded' | 'brokers';
export const serviceNames = ['serving', 'collector', 'judge', 'trainer', 'console'] as const;
export type ServiceName = (typeof serviceNames)[number];
export type Target = ServiceName | 'kafka' | 'redis';

/** A fault that is injected while people chat. Spans in ms. */
export type Fault =
  /** SIGKILL, and a restart `downMs` later, as by a supervisor. `replica`: which one, if there are several. */
  | { readonly kind: 'kill'; readonly target: Target; readonly replica: number; readonly downMs: number }
  /** SIGTERM, and a start at once; `release`: from then on, the program in this folder. */
  | { readonly kind: 'restart'; readonly target: ServiceName; readonly release?: string }
  /** SIGSTOP, and SIGCONT later. */
  | { readonly kind: 'stop'; readonly target: Target; readonly replica: number; readonly forMs: number }
  /** SIGKILL to every process at once; all are restarted. */
  | { readonly kind: 'power-cut' }
  /** FLUSHALL, which removes every job. */
  | { readonly kind: 'flush' }
  /** The disk under the log is full for a while. */
  | { readonly kind: 'disk-full'; readonly forMs: number }
  /** The wall clock of a service jumps, to the past if negative, and stays there. */
  | { readonly kind: 'clock'; readonly target: ServiceName; readonly hours: number };

export type Step = {
  /** ms of work before it */
  readonly afterMs: number;
  readonly fault: Fault;
  /** Waits up to 1.5 s for a moment at which the target has work in progress. */
  readonly isAimed: boolean;
  /** false: the next step does not wait for the recovery from this one */
  readonly isAwaited: boolean;
};

export type PlanOptions = {
  readonly seed: number;
  readonly mode: Mode;
  readonly kills: number;
  readonly canFillDisk: boolean;
};

/** Other faults per kill. */
const OTHERS = 0.5;

/**
 * The same seed gives the same faults in the same order with the same pauses. All targets are killed once before any is
 * killed again.
 */
export function planFaults({ seed, mode, kills, canFillDisk }: PlanOptions): readonly Step[] {
  const random = createRandom(seed);
  const targets: readonly Target[] = mode === 'embedded' ? serviceNames : [...serviceNames, 'kafka', 'redis'];
  const killed = rounds(random, targets, kills).map((target): Fault => {
    const downMs = target === 'kafka' || target === 'redis' ? 200 + random.int(1_500) : 100;
    return { kind: 'kill', target, replica: random.int(2), downMs };
  });
  const kinds: readonly Fault['kind'][] = [
    'stop',
    'clock',
    'power-cut',
    ...(mode === 'brokers' ? (['flush', 'stop'] as const) : []),
    ...(mode === 'embedded' && canFillDisk ? (['disk-full'] as const) : []),
  ];
  const others = rounds(random, kinds, Math.ceil(kills * OTHERS)).map((kind) =>
    otherFault(random, kind, targets),
  );
  const faults = shuffled(random, [...killed, ...others]);
  return faults.map((fault) => ({
    afterMs: 300 + random.int(2_200),
    fault,
    isAimed: random.chance(0.75),
    isAwaited: !random.chance(0.2),
  }));
}

function otherFault(random: Random, kind: Fault['kind'], targets: readonly Target[]): Fault {
  const forMs = 500 + random.int(3_500);
  switch (kind) {
    case 'stop':
      // sometimes longer than a session timeout, so that other members take over from the stopped one
      return {
        kind,
        target: random.of(targets),
        replica: random.int(2),
        forMs: random.chance(0.3) ? forMs + 4_000 : forMs,
      };
    case 'clock':
      return { kind, target: random.of(serviceNames), hours: random.chance(0.5) ? 1 : -1 };
    case 'disk-full':
      return { kind, forMs };
    case 'power-cut':
      return { kind };
    default:
      return { kind: 'flush' };
  }
}

/** `count` items: all of them in random order, then all of them again. */
function rounds<Item>(random: Random, items: readonly Item[], count: number): readonly Item[] {
  const all: Item[] = [];
  while (all.length < count) all.push(...shuffled(random, items));
  return all.slice(0, count);
}

function shuffled<Item>(random: Random, items: readonly Item[]): readonly Item[] {
  const rest = [...items];
  return items.map(() => random.take(rest)!);
}

/** Number of processes, of so many, that a fault kills. */
export const killsOf = (fault: Fault, processes: number): number =>
  fault.kind === 'kill' ? 1 : fault.kind === 'power-cut' ? processes : 0;

export function nameOf(fault: Fault): string {
  switch (fault.kind) {
    case 'kill':
      return `SIGKILL ${fault.target}`;
    case 'restart':
      return fault.release === undefined ? `SIGTERM ${fault.target}` : `upgrade of ${fault.target}`;
    case 'stop':
      return `SIGSTOP ${fault.target}`;
    case 'power-cut':
      return 'SIGKILL all at once';
    case 'flush':
      return 'FLUSHALL';
    case 'disk-full':
      return 'disk full';
    case 'clock':
      return `clock of ${fault.target}`;
  }
}

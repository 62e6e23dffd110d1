import type { Sightings } from '../../../services/collector/sightings.ts';
import { noSightings } from '../../../services/collector/sightings.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import {
  applyHead,
  type Canary,
  type HeadState,
  initialHead,
  type OpenBatch,
} from '../../../shared/lineage/head.ts';
import { type FoldName, firstRules, type HistoryFold, type Rules } from './folds.ts';
import {
  emptyRecords,
  type Group,
  openGroups,
  PARTITIONS,
  type Records,
  type States,
  write,
} from './history-log.ts';
import { createRandom, hashOf, type Random } from './random.ts';

/** Deliberate faults outside the folds: each must make a law fail. */
export type WorldFault =
  | 'stale-owner-commits'
  | 'commit-in-two'
  | 'rebuilt-under-new-rules'
  | 'lost-outbox'
  | 'canary-by-request'
  | 'canary-outlives-its-end'
  | 'no-canary-timer';

/** A follower of `training`: the next offset per partition, and each adapter's head. */
export type View = { at: number[]; readonly heads: Map<string, HeadState> };
export const newView = (): View => ({ at: Array.from({ length: PARTITIONS }, () => 0), heads: new Map() });

export type Flight = {
  readonly id: string;
  readonly client: Client;
  readonly side: boolean;
  readonly pinned: boolean;
  readonly words: readonly string[];
  readonly version: number;
};
export type Replica = {
  readonly name: string;
  up: boolean;
  view: View;
  loaded: Map<string, number>;
  /** candidates that are loaded beside the head */
  canaries: Map<string, Canary>;
  outbox: ClawLoopEvent[];
  flights: Flight[];
  /** ticks that its clock is ahead */
  skew: number;
};
export type Client = {
  readonly key: string;
  readonly session: string | undefined;
  readonly settle: 'votes' | 'reward';
  readonly lane: string;
  readonly adapter: string;
  words: string[];
  waiting: { readonly id: string; readonly pinned: boolean } | undefined;
  readonly mine: string[];
};
export type Vote = {
  readonly id: string;
  readonly turnId: string;
  readonly lane: string;
  readonly index: number;
};
export type Trainer = {
  view: View;
  task: { readonly batch: OpenBatch; stage: 'begin' | 'commit' | 'announce' | 'gate' } | undefined;
};
/** What a process believes that it owns. */
export type Owned = { readonly term: number; position: number; states: States; readonly rules: Rules };

export type World = {
  readonly seed: number;
  readonly random: Random;
  /** ticks: the wall clock, which may jump, and the monotonic one */
  now: number;
  awake: number;
  ids: number;
  faulty: boolean;
  logUp: boolean;
  judgeUp: boolean;
  rules: Rules;
  readonly records: Records;
  readonly groups: readonly Group[];
  readonly members: readonly Map<Group, Owned>[];
  /** appends on their way: a duplicate, a slow sweeper */
  later: ClawLoopEvent[];
  votes: Vote[];
  wakes: string[];
  readonly voteWorkers: (Vote | undefined)[];
  readonly trainers: Trainer[];
  readonly attempts: Map<string, number>;
  readonly checkpoints: Set<string>;
  readonly replicas: readonly Replica[];
  readonly clients: readonly Client[];
  sightings: { idle: Sightings; rested: Sightings; deadline: Sightings };
  /** told to a client as durable */
  readonly durable: string[];
  readonly completions: (Pick<Client, 'key' | 'lane' | 'adapter'> & { readonly id: string })[];
  readonly violations: string[];
  readonly faults: ReadonlySet<WorldFault>;
  readonly mood: {
    readonly operators: number;
    readonly faults: number;
    readonly wander: number;
    readonly trainers: number;
  };
};

export const adapters = ['x', 'y'] as const;
const keys = ['k1', 'k2', 'k3'] as const;
/** Short on purpose: lanes of two keys collide. */
const laneOf = (key: string, session: string | undefined) => `lane${hashOf(`${key}/${session ?? ''}`) % 7}`;

export function createWorld(
  seed: number,
  folds: readonly HistoryFold[],
  faults: ReadonlySet<WorldFault> = new Set(),
): World {
  const random = createRandom(seed);
  return {
    seed,
    random,
    now: 1000,
    awake: 0,
    ids: 0,
    faulty: true,
    logUp: true,
    judgeUp: true,
    rules: firstRules,
    records: emptyRecords(),
    groups: openGroups(folds),
    members: [new Map(), new Map(), new Map()],
    later: [],
    votes: [],
    wakes: [],
    voteWorkers: [undefined, undefined],
    trainers: [newTrainer(), newTrainer()],
    attempts: new Map(),
    checkpoints: new Set(),
    replicas: ['r0', 'r1'].map((name) => ({
      name,
      up: true,
      view: newView(),
      loaded: new Map(),
      canaries: new Map(),
      outbox: [],
      flights: [],
      skew: 0,
    })),
    clients: Array.from({ length: 5 }, () => newClient(random)),
    sightings: { idle: noSightings, rested: noSightings, deadline: noSightings },
    durable: [],
    completions: [],
    violations: [],
    faults,
    mood: {
      operators: random.of([0.005, 0.05]),
      faults: random.of([0.3, 1, 1, 2]),
      wander: random.of([0.3, 1]),
      trainers: random.of([1, 3]),
    },
  };
}

export const newTrainer = (): Trainer => ({ view: newView(), task: undefined });

function newClient(random: Random): Client {
  const key = random.of(keys);
  const session = random.chance(0.5) ? `s${random.int(2)}` : undefined;
  const settle = session !== undefined && random.chance(0.3) ? 'reward' : 'votes';
  const lane = laneOf(key, session);
  return {
    key,
    session,
    settle,
    lane,
    adapter: random.of(adapters),
    words: [],
    waiting: undefined,
    mine: [],
  };
}

export const newId = (world: World, prefix: string) => `${prefix}${++world.ids}`;

/** Durable on return, at least once: a copy may follow at any time. */
export function append(world: World, event: ClawLoopEvent): void {
  if (world.faulty && world.random.chance(0.12 * world.mood.faults)) world.later.push(event);
  write(world.records, event);
}

/** Now, or much later: who saw a state may speak when it is over. */
export function appendSometime(world: World, event: ClawLoopEvent): void {
  if (world.random.chance(0.5)) append(world, event);
  else world.later.push(event);
}

export const groupsOf = (world: World, name: FoldName) =>
  world.groups.filter(({ fold }) => fold.name === name);

/** Moves a view on by a few records, or to the end. */
export function follow(world: World, view: View, toEnd = false): void {
  world.records.training.forEach((log, partition) => {
    const from = view.at[partition]!;
    const until = toEnd ? log.length : Math.min(log.length, from + world.random.int(4));
    for (const event of log.slice(from, until))
      view.heads.set(event.subject, applyHead(view.heads.get(event.subject) ?? initialHead, event));
    view.at[partition] = until;
  });
}

export function headNow(world: World, adapter: string): HeadState {
  const view = newView();
  follow(world, view, true);
  return view.heads.get(adapter) ?? initialHead;
}

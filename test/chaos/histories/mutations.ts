import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { PolicyPromoted } from '../../../shared/events/policy-promoted.ts';
import { defined } from '../../../shared/lang/defined.ts';
import type { HeadView } from '../../../shared/lineage/head.ts';
import type { Rows } from '../../../shared/log/rows.ts';
import { type FoldName, type HistoryFold, theFolds } from './folds.ts';
import type { WorldFault } from './world.ts';

/** A fold with one rule left out, made by standing between it and its input, its rows or its output. */
export type Mutation = {
  readonly name: string;
  readonly folds?: readonly HistoryFold[];
  readonly fault?: WorldFault;
};

type Around = (fold: HistoryFold) => HistoryFold['on'];

const mutated = (name: string, which: FoldName, around: Around): Mutation => ({
  name,
  folds: theFolds.map((fold) => (fold.name === which ? { ...fold, on: around(fold) } : fold)),
});

/** The fold sees another event in the place of this one. */
const reading =
  (change: (event: ClawLoopEvent, rows: Rows) => ClawLoopEvent): Around =>
  ({ on }) =>
  (rows, event, at, rules) =>
    on(rows, change(event, rows), at, rules);

/** The fold sees other rows than those that are committed. */
const seeing =
  (change: (key: string, row: unknown) => unknown): Around =>
  ({ on }) =>
  (rows, event, at, rules) =>
    on({ get: (key) => change(key, rows.get(key)), entries: rows.entries }, event, at, rules);

const withData = (event: ClawLoopEvent, data: object) =>
  ({ ...event, data: { ...event.data, ...data } }) as ClawLoopEvent;

const headOf = (rows: Rows) =>
  (rows.get('head/now') as Pick<HeadView, 'head' | 'n' | 'canary'> | undefined) ?? { head: 0, n: 0 };

/** Each must be noticed by a law. */
export const mutations: readonly Mutation[] = [
  { name: 'a stale owner commits', fault: 'stale-owner-commits' },
  { name: 'facts and state are committed one after the other', fault: 'commit-in-two' },
  { name: 'rows are rebuilt under new rules', fault: 'rebuilt-under-new-rules' },
  { name: 'an outbox loses what it holds', fault: 'lost-outbox' },
  { name: 'each request is chosen for a canary by itself', fault: 'canary-by-request' },
  { name: 'a replica serves a candidate after its canary', fault: 'canary-outlives-its-end' },
  { name: 'no timer ends a canary', fault: 'no-canary-timer' },
  mutated(
    'a decision about a canary is forgotten',
    'submit',
    seeing((key, row) => (key === 'canary/now' && row ? { ...row, decided: undefined } : row)),
  ),
  mutated(
    'a verdict counts for the other version of a canary',
    'submit',
    reading((event, rows) => {
      const { canary } = headOf(rows);
      if (event.type !== 'verdict.recorded' || canary == null) return event;
      const { from, to } = canary;
      return event.data.version === from ? withData(event, { version: to }) : event;
    }),
  ),
  mutated(
    'a candidate whose verdicts are worse is promoted',
    'submit',
    ({ on }) =>
      (rows, event, at, rules) => {
        const { changes, emit } = on(rows, event, at, rules);
        return { changes, emit: emit.map((fact) => ('type' in fact ? promotedAnyway(fact, rows) : fact)) };
      },
  ),
  mutated(
    'access keys share a lane',
    'attribute',
    reading((event) => ('key' in event.data ? withData(event, { key: 'any' }) : event)),
  ),
  mutated(
    'what was deleted is completed',
    'attribute',
    reading((event) => (event.type === 'response.deleted' ? withData(event, { key: 'other' }) : event)),
  ),
  mutated(
    'a rewarded session is not waited for',
    'submit',
    reading((event) => (event.type === 'sample.ready' ? withData(event, { following: undefined }) : event)),
  ),
  mutated(
    'what was deleted is judged',
    'assemble',
    reading((event) => (event.type === 'turn.withdrawn' ? withData(event, { turnId: 'other' }) : event)),
  ),
  mutated(
    'ids are not remembered',
    'attribute',
    seeing((key, row) => (key.startsWith('turn/') && isDone(row) ? undefined : row)),
  ),
  mutated(
    'nothing is ever too late',
    'attribute',
    seeing((key, row) => (key === 'lane/now' && row ? { ...row, time: 0 } : row)),
  ),
  mutated(
    'an old timer ends a session',
    'attribute',
    reading((event) => (event.type === 'session.ended' ? withData(event, { reason: 'explicit' }) : event)),
  ),
  mutated(
    'feedback that comes first is dropped',
    'attribute',
    seeing((key, row) => (key.startsWith('early/') ? undefined : row)),
  ),
  mutated('a return forgets what came of the turn', 'attribute', ({ on }) => (rows, event, at, rules) => {
    const { changes, emit } = on(rows, event, at, rules);
    return { changes, emit: emit.map((fact) => ('type' in fact ? forgetful(fact) : fact)) };
  }),
  mutated('the first reward of a turn counts', 'attribute', ({ on }) => (rows, event, at, rules) => {
    const { changes, emit } = on(rows, event, at, rules);
    return { changes: changes.filter(({ key, row }) => !isRewardedAgain(rows.get(key), row)), emit };
  }),
  mutated(
    'an explicit session gets another name',
    'attribute',
    reading((event) =>
      event.type === 'interaction.completed' && event.data.session
        ? withData(event, { session: `${event.data.session}?` })
        : event,
    ),
  ),
  mutated(
    'pinned versions make turns',
    'attribute',
    reading((event) => (event.type === 'interaction.completed' ? withData(event, { live: true }) : event)),
  ),
  mutated(
    'a session closes before its turns are settled',
    'assemble',
    ({ on }) =>
      (rows, event, at, rules) =>
        event.type === 'session.closed'
          ? on(withoutWaiting(rows), event, at, rules)
          : on(rows, event, at, rules),
  ),
  mutated('a judgment counts again', 'assemble', ({ on }) => (rows, event, at, rules) => {
    const { changes, emit } = on(rows, event, at, rules);
    return {
      changes: changes.filter(({ key, row }) => !(key.startsWith('turn/') && row === undefined)),
      emit,
    };
  }),
  mutated(
    'a candidate is promoted whatever its parent',
    'submit',
    reading((event, rows) =>
      event.type === 'policy.promoted' ? withData(event, { from: headOf(rows).head }) : event,
    ),
  ),
  mutated(
    'the gate closes only when the batch is read back',
    'submit',
    ({ on }) =>
      (rows, event, at, rules) => {
        const { changes, emit } = on(rows, event, at, rules);
        const closes =
          event.type !== 'batch.submitted' &&
          emit.some((fact) => 'type' in fact && fact.type === 'batch.submitted');
        return { changes: closes ? changes.filter(({ key }) => key !== 'head/now') : changes, emit };
      },
  ),
  mutated(
    'commands are forgotten',
    'submit',
    seeing((key, row) => (key.startsWith('command/') ? undefined : row)),
  ),
  mutated(
    'batches that trained again are forgotten',
    'submit',
    seeing((key, row) => (key.startsWith('retrained/') ? undefined : row)),
  ),
  mutated('staleness is not looked at', 'submit', ({ on }) => (rows, event, at, rules) => {
    const { changes, emit } = on(rows, event, at, { ...rules, maxStaleness: 1000 });
    return {
      changes,
      emit: emit.map((fact) =>
        'type' in fact && fact.type === 'batch.submitted'
          ? withData(fact, { maxStaleness: rules.maxStaleness })
          : fact,
      ),
    };
  }),
  mutated(
    'any request makes a small batch',
    'submit',
    reading((event, rows) =>
      event.type === 'batch.requested' ? withData(event, { after: headOf(rows).n }) : event,
    ),
  ),
  mutated(
    'votes are counted by the rule of the day',
    'judge',
    ({ on }) =>
      (rows, event, at, rules) =>
        on(
          {
            get: (key) => needing(rows.get(key), rules.votes),
            entries: (prefix) =>
              [...rows.entries(prefix)].map(([key, row]) => [key, needing(row, rules.votes)] as const),
          },
          event,
          at,
          rules,
        ),
  ),
  mutated(
    'a thumb after the verdict changes nothing',
    'judge',
    ({ on }) =>
      (rows, event, at, rules) =>
        event.type === 'turn.feedback' && rows.get(`settled-verdict/${event.data.turnId}`) !== undefined
          ? { changes: [], emit: [] }
          : on(rows, event, at, rules),
  ),
  mutated(
    'a reward is waited for without end',
    'judge',
    ({ on }) =>
      (rows, event, at, rules) =>
        event.type === 'session.closed' ? { changes: [], emit: [] } : on(rows, event, at, rules),
  ),
];

function promotedAnyway(event: ClawLoopEvent, rows: Rows): ClawLoopEvent {
  const { canary } = headOf(rows);
  if (event.type !== 'policy.rejected' || canary == null) return event;
  const { id: _, source, time } = event;
  const { share: __, ...served } = canary;
  const { figures } = event.data;
  const data = { ...served, reason: '', ...defined({ figures }) };
  return PolicyPromoted.create({ id: `${canary.batchId}/promoted`, source, time, data });
}

const forgetful = (event: ClawLoopEvent) =>
  event.type === 'turn.feedback' && event.data.return !== undefined
    ? withData(event, { score: event.data.return.own ?? 0 })
    : event;

type Rewarded = { readonly reward?: { readonly given: string } } | undefined;
const isRewardedAgain = (before: unknown, after: unknown): boolean => {
  const [first, second] = [(before as Rewarded)?.reward, (after as Rewarded)?.reward];
  return first !== undefined && second !== undefined && first.given !== second.given;
};

const isDone = (row: unknown) => (row as { status?: string } | undefined)?.status === 'done';

const needing = (row: unknown, needs: number) => (row === undefined ? row : { ...(row as object), needs });

const withoutWaiting = (rows: Rows): Rows => ({
  get: (key) => {
    const row = rows.get(key);
    return key.startsWith('epoch/') && row !== undefined ? { ...row, waiting: 0 } : row;
  },
  entries: rows.entries,
});

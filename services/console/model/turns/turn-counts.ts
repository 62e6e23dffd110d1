import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { Besides, CountedTurn } from '../../../../shared/views/turn-index/index-rows.ts';
import { TRAINED } from '../../../../shared/views/turn-index/stored-turn.ts';
import { openCounts, schemaOf } from './count-table.ts';

/** ms; every span of the learning page is a multiple */
export const QUARTER_MS = 900_000;

/** Values to filter by, and facts of the overview. Names are as columns hold them. */
export const facetCounts = {
  name: 'facets',
  keys: [
    ['adapter', 'TEXT'],
    ['kind', 'TEXT'],
    ['value', 'TEXT'],
  ],
  counts: ['turns'],
} as const;

const verdicts = ['turns', 'good', 'bad', 'neither'] as const;

/** Live turns by version, and by version and quarter of an hour. */
export const versionCounts = {
  name: 'versions',
  keys: [
    ['adapter', 'TEXT'],
    ['version', 'INTEGER'],
  ],
  counts: verdicts,
  hasTimes: true,
} as const;
export const quarterCounts = {
  name: 'quarters',
  keys: [
    ['adapter', 'TEXT'],
    ['quarter', 'INTEGER'],
    ['version', 'INTEGER'],
  ],
  counts: verdicts,
} as const;

/** Complaints about live turns. */
export const wishCounts = {
  name: 'wishes',
  keys: [
    ['adapter', 'TEXT'],
    ['wish', 'TEXT'],
    ['quarter', 'INTEGER'],
  ],
  counts: ['times'],
} as const;

export const personCounts = {
  name: 'people',
  keys: [['key', 'TEXT']],
  counts: ['turns', 'good', 'bad'],
  hasTimes: true,
} as const;

/** Turns whose session is known. A session has one row, unless several people, adapters or kinds of versions share it. */
export const sessionCounts = {
  name: 'talks',
  keys: [
    ['session', 'TEXT'],
    ['key', 'TEXT'],
    ['adapter', 'TEXT'],
    ['live', 'INTEGER'],
  ],
  counts: ['turns', 'trained', 'rewards'],
  hasTimes: true,
} as const;

const all = [facetCounts, versionCounts, quarterCounts, wishCounts, personCounts, sessionCounts] as const;
export const countSchema = all.map(schemaOf).join('\n');

const verdictNames = new Map([
  [1, 'good'],
  [-1, 'bad'],
  [0, 'neither'],
]);

const facetsOf = (turn: CountedTurn): readonly (readonly [kind: string, value: string])[] => [
  ['all', ''],
  ['outcome', turn.outcome],
  ['person', turn.key],
  ['version', String(turn.version)],
  ...(turn.verdict === null ? [] : [['verdict', verdictNames.get(turn.verdict)!] as const]),
  ...(turn.live === 1 ? liveFacetsOf(turn) : []),
];

const liveFacetsOf = (turn: CountedTurn): readonly (readonly [kind: string, value: string])[] => [
  ['live', ''],
  ...(turn.hasReaction ? [['reacted', ''] as const] : []),
  ...(turn.verdict === null ? [] : [['judged', ''] as const]),
  ...(turn.outcome === 'waiting for batch' ? [['waiting', ''] as const] : []),
];

const isSame = (a: CountedTurn, b: CountedTurn): boolean =>
  a.outcome === b.outcome &&
  a.verdict === b.verdict &&
  a.session === b.session &&
  a.hasReaction === b.hasReaction &&
  a.hasReward === b.hasReward &&
  a.wishes.join() === b.wishes.join();

/** Keeps the counts of what the turns are. */
export function openTurnCounts(db: DatabaseSync): Pick<Besides, 'noteTurn' | 'flush' | 'finishRemoval'> {
  const facets = openCounts(db, facetCounts);
  const versions = openCounts(db, versionCounts);
  const quarters = openCounts(db, quarterCounts);
  const wishes = openCounts(db, wishCounts);
  const people = openCounts(db, personCounts);
  const sessions = openCounts(db, sessionCounts);
  const times = openTimes(db);

  const count = (turn: CountedTurn, by: 1 | -1): void => {
    const { adapter, key, version, ms, session, live, verdict } = turn;
    const is = (wanted: boolean): number => (wanted ? by : 0);
    const [good, bad, neither] = [is(verdict === 1), is(verdict === -1), is(verdict === 0)];
    const quarter = Math.floor(ms / QUARTER_MS);
    for (const [kind, value] of facetsOf(turn)) facets.add({ key: [adapter, kind, value], by: [by], ms });
    people.add({ key: [key], by: [by, good, bad], ms });
    if (session !== '')
      sessions.add({
        key: [session, key, adapter, live],
        by: [by, is(turn.outcome === TRAINED), is(turn.hasReward)],
        ms,
      });
    if (live === 0) return;
    versions.add({ key: [adapter, version], by: [by, good, bad, neither], ms });
    quarters.add({ key: [adapter, quarter, version], by: [by, good, bad, neither], ms });
    if (verdict !== -1) return;
    for (const wish of turn.wishes) wishes.add({ key: [adapter, wish, quarter], by: [by], ms });
  };
  return {
    noteTurn: (before, after) => {
      if (before !== undefined && after !== undefined && isSame(before, after)) return;
      if (before !== undefined) count(before, -1);
      if (after !== undefined) count(after, 1);
      if (before !== undefined) times.noteGone(before, after);
    },
    flush: () => {
      for (const table of [facets, versions, quarters, wishes, people, sessions]) table.flush();
      times.flush();
    },
    finishRemoval: times.finishPeople,
  };
}

/** Corrects the first and last times of groups that lost turns. */
function openTimes(db: DatabaseSync) {
  const ofSession = (order: string) =>
    `(SELECT ms FROM turns AS t WHERE t.session = g.session AND t.key = g.key AND t.adapter = g.adapter
      AND t.live = g.live ORDER BY ms ${order} LIMIT 1)`;
  const session = db.prepare(
    `UPDATE talks AS g SET first = ${ofSession('ASC')}, last = ${ofSession('DESC')}
     WHERE session = ? AND key = ? AND adapter = ? AND live = ?`,
  );
  const ofVersion = (order: string) =>
    `(SELECT ms FROM turns AS t WHERE t.version = v.version AND t.adapter = v.adapter AND t.live = 1
      ORDER BY ms ${order} LIMIT 1)`;
  const version = db.prepare(
    `UPDATE versions AS v SET first = ${ofVersion('ASC')}, last = ${ofVersion('DESC')}
     WHERE adapter = ? AND version = ?`,
  );
  // one pass over all turns, since no index begins with the person
  const people = db.prepare(
    `UPDATE people AS p SET first = t.first, last = t.last
     FROM (SELECT key, min(ms) AS first, max(ms) AS last FROM turns GROUP BY key) AS t WHERE t.key = p.key`,
  );
  const sessions = new Map<string, readonly SQLInputValue[]>();
  const versions = new Map<string, readonly SQLInputValue[]>();
  return {
    noteGone: (before: CountedTurn, after: CountedTurn | undefined): void => {
      const { session, key, adapter, live, version } = before;
      if (session !== '' && session !== after?.session)
        sessions.set([session, key, adapter, live].join('\u0001'), [session, key, adapter, live]);
      if (after === undefined && live === 1) versions.set(`${adapter}\u0001${version}`, [adapter, version]);
    },
    flush: (): void => {
      for (const group of sessions.values()) session.run(...group);
      for (const one of versions.values()) version.run(...one);
      sessions.clear();
      versions.clear();
    },
    finishPeople: (): void => void people.run(),
  };
}

import type { FoundTurn } from '../../../shared/views/found-turn.ts';
import { countFacets, whatWasReached } from '../model/facets.ts';
import { findTurns, matcher, type TurnFilter } from '../model/find-turns.ts';
import { learningView } from '../model/learning.ts';
import { peopleIn, sessionsIn } from '../model/people.ts';
import type { TurnRows } from '../model/turns/turn-rows.ts';
import { allTurns } from './all-turns.ts';
import { facetsOf, learningOf, peopleOf, reachedBy, sessionsOf } from './by-hand.ts';

const adapters = ['default', 'other'];
const filters: readonly TurnFilter[] = [
  {},
  { adapter: 'other' },
  { outcome: 'trained' },
  { outcome: 'not-trained', adapter: 'default' },
  { outcome: 'open', person: 'key-1' },
  { reason: 'side' },
  { reason: 'canary', version: 2 },
  { verdict: 'bad' },
  { verdict: 'neither', person: 'key-0' },
  { session: 's-3' },
  { session: 's-3', verdict: 'good' },
  { version: 1 },
  { version: 1, verdict: 'good', adapter: 'default' },
  { session: 'none' },
];
const noTexts = () => ({ asked: '', answered: '', reaction: '', inferred: undefined, hints: [] });

async function idsByPages(rows: TurnRows, filter: TurnFilter): Promise<readonly string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  for (;;) {
    const { turns, next } = await findTurns(rows, filter, { cursor, limit: 7, texts: noTexts });
    ids.push(...turns.map(({ row }) => row.id));
    if (next === null) return ids;
    cursor = next;
  }
}

function sessionsByPages(rows: TurnRows) {
  const sessions = [];
  let cursor: string | undefined;
  for (;;) {
    const page = sessionsIn(rows, { cursor, limit: 3 });
    sessions.push(...page.sessions);
    if (page.next === null) return sessions;
    cursor = page.next;
  }
}

const shown = ({ row, view }: FoundTurn) => ({
  row: { ...row, places: row.places.toSorted((a, b) => a - b), batches: row.batches.toSorted() },
  view,
});
/** By their time and name, since those of the same time may be told in any order. */
const sorted = <Item extends { readonly last: number }>(
  items: readonly Item[],
  nameOf: (item: Item) => string,
) => items.toSorted((a, b) => b.last - a.last || (nameOf(a) < nameOf(b) ? -1 : 1));

/** The answers to all queries. */
export const answers = async (rows: TurnRows) => ({
  turns: allTurns(rows).map(shown),
  found: await Promise.all(filters.map((filter) => idsByPages(rows, filter))),
  facets: [undefined, ...adapters].map((adapter) => countFacets(rows, adapter)),
  reached: whatWasReached(rows),
  learning: adapters.map((adapter) => learningView(rows, adapter)),
  people: peopleIn(rows),
  sessions: sorted(sessionsByPages(rows), ({ session }) => session),
  size: rows.size(),
});
export type Answers = Awaited<ReturnType<typeof answers>>;

/** The same answers, from all turns. */
export function byHand(
  turns: readonly FoundTurn[],
  states: (name: string) => ReturnType<TurnRows['session']>,
) {
  const newest = turns.toReversed();
  return {
    turns: turns.map(shown),
    found: filters.map((filter) => newest.filter(matcher(filter)).map(({ row }) => row.id)),
    facets: [undefined, ...adapters].map((adapter) => facetsOf(turns, adapter)),
    reached: reachedBy(turns),
    learning: adapters.map((adapter) => learningOf(turns, adapter)),
    people: peopleOf(turns),
    sessions: sorted(sessionsOf(turns, states), ({ session }) => session),
    size: turns.length,
  } satisfies { readonly [Name in keyof Answers]: unknown };
}

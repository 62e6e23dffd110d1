import { sum } from '../../../shared/lang/numbers.ts';
import type { FoundTurn } from '../../../shared/views/found-turn.ts';
import type { TurnView } from '../../../shared/views/turn-view.ts';
import { wishes } from '../../../shared/wishes/wishes.ts';
import { outcomeOf, reasonOf, verdictOf } from '../model/find-turns.ts';
import { sayWhatIsKnown, shareOf } from '../model/statistics.ts';

/** What the pages show, found by looking at every turn. All take the turns in the order of their times. */
type Turns = readonly FoundTurn[];

export function facetsOf(turns: Turns, adapter: string | undefined) {
  const facets = { total: 0, outcomes: {}, reasons: {}, verdicts: {}, people: {}, versions: {} };
  const count = (counts: Record<string, number>, value: string | number | undefined) => {
    if (value !== undefined) counts[value] = (counts[value] ?? 0) + 1;
  };
  for (const { row, view } of turns) {
    if (adapter !== undefined && view.adapter !== adapter) continue;
    facets.total += 1;
    count(facets.outcomes, outcomeOf(view));
    count(facets.reasons, reasonOf(view));
    count(facets.verdicts, verdictOf(view));
    count(facets.people, row.key);
    count(facets.versions, view.version);
  }
  return facets;
}

export function reachedBy(turns: Turns) {
  const live = turns.filter(({ view }) => view.live);
  const waiting = new Map<string, number>();
  for (const { view } of live)
    if (view.stage.kind === 'waiting-for-batch')
      waiting.set(view.adapter, (waiting.get(view.adapter) ?? 0) + 1);
  return {
    chatted: live.length > 0,
    reacted: live.some(({ row, view }) => row.reactionAt !== undefined || view.source === 'feedback'),
    judged: live.some(({ view }) => verdictOf(view) !== undefined),
    waiting,
  };
}

function pointOf(turns: readonly { readonly view: TurnView }[]) {
  const of = (wanted: string) => turns.filter(({ view }) => verdictOf(view) === wanted).length;
  const [good, bad, neither] = [of('good'), of('bad'), of('neither')];
  return { turns: turns.length, bad, neither, ...shareOf(good, good + bad) };
}

const HOUR = 3_600_000;
const spans = [HOUR / 4, HOUR, 6 * HOUR, 24 * HOUR, 7 * 24 * HOUR];

export function learningOf(all: Turns, adapter: string) {
  const turns = all.filter(({ view }) => view.live && view.adapter === adapter);
  const groups = <Key>(keyOf: (turn: FoundTurn) => Key) => [...Map.groupBy(turns, keyOf)];
  const isClear = ({ view }: FoundTurn) => ['good', 'bad'].includes(verdictOf(view) ?? '');
  const recent = turns.filter((turn) => turn.view.version > 0 && isClear(turn)).slice(-50);
  const [first, last] = [turns[0], turns.at(-1)];
  const span = spans.find((ms) => first === undefined || (last!.row.ms - first.row.ms) / ms < 60)!;
  return {
    sentence: sayWhatIsKnown(pointOf(turns.filter(({ view }) => view.version === 0)), pointOf(recent)),
    all: pointOf(turns),
    versions: groups(({ view }) => view.version)
      .toSorted(([a], [b]) => a - b)
      .map(([version, of]) => ({ version, from: of[0]!.row.ms, ...pointOf(of) })),
    overTime: groups(({ row }) => Math.floor(row.ms / span) * span).map(([from, of]) => {
      const versions = of.map(({ view }) => view.version);
      const range = [Math.min(...versions), Math.max(...versions)];
      return { from, to: from + span, versions: range, ...pointOf(of) };
    }),
    complaints: complaintsOf(turns),
  };
}

function complaintsOf(turns: Turns) {
  const heard = new Map<string, number[]>();
  for (const [index, { row, view }] of turns.entries())
    if (verdictOf(view) === 'bad')
      for (const wish of row.wishes) heard.set(wish, [...(heard.get(wish) ?? []), index]);
  return [...heard]
    .map(([wish, at]) => {
      const { row, view } = turns[at.at(-1)!]!;
      const later = new Set(turns.slice(at.at(-1)! + 1).map((turn) => turn.view.session));
      later.delete(view.session);
      later.delete('');
      const { hint } = wishes[wish as keyof typeof wishes];
      return { wish, hint, times: at.length, last: row.ms, lastTurn: row.id, sessionsSince: later.size };
    })
    .sort((a, b) => a.sessionsSince - b.sessionsSince);
}

/** Those whose first turns have the same time in the order of their keys. */
export const peopleOf = (turns: Turns) =>
  [...Map.groupBy(turns, ({ row }) => row.key)]
    .sort(([a, [one]], [b, [other]]) => one!.row.ms - other!.row.ms || (a < b ? -1 : 1))
    .map(([key, of]) => {
      const sessions = new Set(of.map(({ view }) => view.session));
      sessions.delete('');
      const { good, bad } = pointOf(of);
      return { key, turns: of.length, good, bad, last: of.at(-1)!.row.ms, sessions: sessions.size };
    });

type States = (
  name: string,
) => { readonly task?: string | undefined; readonly isClosed: boolean } | undefined;

export const sessionsOf = (turns: Turns, states: States) =>
  [...Map.groupBy(turns, ({ view }) => view.session)]
    .filter(([session]) => session !== '')
    .map(([session, of]) => {
      const [{ row, view }] = of as [FoundTurn];
      const own = of.map((turn) => turn.view.own).filter((reward) => reward != null);
      return {
        session,
        person: row.key,
        adapter: view.adapter,
        task: states(session)?.task ?? null,
        isRewarded: row.isSettledByReward,
        isClosed: states(session)?.isClosed ?? false,
        turns: of.length,
        trained: of.filter((turn) => turn.view.stage.kind === 'trained').length,
        rewards: own.length,
        meanReward: own.length === 0 ? null : sum(own) / own.length,
        first: row.ms,
        last: of.at(-1)!.row.ms,
      };
    })
    .sort((a, b) => b.last - a.last);

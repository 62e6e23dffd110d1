import { expect, test } from 'vitest';
import { randomChains } from './testing/random-chains.ts';
import { createTurnTable, type TurnTable } from './turn-table.ts';
import { turnsState } from './turns-state.ts';

/** Everything that the table knows, in an order that does not depend on the order of reading. */
const known = (table: TurnTable) => ({
  turns: table.inTime().map((row) => ({
    row: { ...row, places: row.places.toSorted((a, b) => a - b) },
    view: table.view(row.id),
  })),
  batches: [...table.batches()],
  sessions: [...table.sessions()].sort(([a], [b]) => (a < b ? -1 : 1)),
});

test.each([1, 2, 3, 4, 5])(
  'a table from a stored state goes on as if it had read everything, seed %i',
  (seed) => {
    const records = randomChains(seed);
    const feed = (table: TurnTable, part: typeof records): TurnTable => {
      for (const topic of ['conversations', 'turns', 'training'] as const)
        for (const one of part) if (one.topic === topic) table.on(one.record, topic);
      return table;
    };
    const atOnce = known(feed(createTurnTable(), records));
    expect(
      atOnce.turns.some(({ view }) => view.stage.kind === 'trained' || view.stage.kind === 'in-batch'),
    ).toBe(true);
    for (const cut of [1, 57, 200, 333, records.length - 1]) {
      const before = feed(createTurnTable(), records.slice(0, cut));
      const state = turnsState.parse(JSON.parse(JSON.stringify(before.state())));
      expect(known(feed(createTurnTable(state), records.slice(cut))), `cut at ${cut}`).toEqual(atOnce);
    }
  },
);

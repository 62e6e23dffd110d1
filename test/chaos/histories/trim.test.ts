import { expect, test } from 'vitest';
import { createAudit } from '../../../services/cli/audit/audit.ts';
import { createConsoleModel } from '../../../services/console/model/console-model.ts';
import { TurnViews } from '../../../shared/views/turn-views.ts';
import { readHistory } from './laws/history.ts';
import { createRandom } from './random.ts';
import { laws, runHistory } from './run-history.ts';
import { openThings, quiesce, tick } from './scheduler.ts';
import { openTrims, watchedFolds } from './trim-world.ts';
import { createWorld, type World } from './world.ts';

const seeds = [1, 2, 3, 5, 6, 8, 9, 10];
const HOUR_MS = 3_600_000;

/** Offsets in the rows of all groups that read a topic, found in their JSON. */
function offsetsInRows(world: World, topic: string, partition: number): readonly number[] {
  return world.groups
    .filter((group) => group.fold.reads === topic && group.partition === partition)
    .flatMap(({ states }) => [...states.values()].flatMap((rows) => [...rows.values()]))
    .flatMap((row) => [...JSON.stringify(row).matchAll(/"partition":(\d+),"offset":(\d+)/g)])
    .filter(([, of]) => Number(of) === partition)
    .map(([, , offset]) => Number(offset));
}

test.each(seeds)(
  'in the history of seed %i, no trim removes what is unread or what an open item points to, and it goes on',
  async (seed) => {
    const removed: string[] = [];
    let isOver = false;
    const folds = watchedFolds(
      (topic, { partition, offset }) =>
        isOver || topic === 'training' || offset >= trims.starts[topic][partition]!,
      (what) => removed.push(what),
    );
    const world = createWorld(seed, folds);
    const trims = openTrims(world);
    const random = createRandom(seed + 1_000);
    for (let step = 0; step < 900; step++) {
      tick(world);
      if (step % 60 !== 59) continue;
      // mostly far too little to keep, so that only what is held stays
      await trims.trim(random.of([0, 0, HOUR_MS, 24 * HOUR_MS]));
      for (const topic of ['conversations', 'turns'] as const)
        for (const [partition, start] of trims.starts[topic].entries()) {
          const readers = world.groups.filter(
            (group) => group.fold.reads === topic && group.partition === partition,
          );
          for (const { position } of readers) expect(position).toBeGreaterThanOrEqual(start);
          for (const offset of offsetsInRows(world, topic, partition))
            expect(offset).toBeGreaterThanOrEqual(start);
        }
    }
    const ended = quiesce(world);
    expect(trims.removed()).toBeGreaterThan(0);
    expect(removed).toEqual([]);
    isOver = true; // the laws fold the whole history again
    expect(ended ? [] : openThings(world)).toEqual([]);
    const history = readHistory(world);
    expect(world.violations).toEqual([]);
    for (const law of Object.values(laws)) expect(law(history)).toEqual([]);
  },
);

test.each(seeds)(
  'audit balances and the views take the history of seed %i, wherever its topics are cut',
  (seed) => {
    const { world } = runHistory(seed);
    const random = createRandom(seed);
    let [notChecked, turns] = [0, 0];
    for (let round = 0; round < 4; round++) {
      const audit = createAudit({ trimmed: new Set(['conversations', 'turns']) });
      const model = createConsoleModel();
      const views = new TurnViews();
      const share = random.next();
      for (const topic of ['conversations', 'turns', 'training'] as const)
        for (const [partition, events] of world.records[topic].entries()) {
          const part = round % 2 === 0 ? share : random.next();
          const start = topic === 'training' ? 0 : Math.floor(part * events.length);
          for (const [index, event] of events.slice(start).entries()) {
            const at = { partition, offset: start + index };
            const record = { event, at, time: Date.parse(event.time) };
            audit.on({ topic, ...record });
            model.on(record, topic);
            views.on(event);
          }
        }
      const { broken, uncovered } = audit.report();
      expect(broken).toEqual([]);
      notChecked += uncovered;
      turns += model.turns.size();
      for (const { time } of views.turns.values()) expect(time).toBeTypeOf('string');
    }
    expect(notChecked).toBeGreaterThan(0);
    expect(turns).toBeGreaterThan(0);
  },
);

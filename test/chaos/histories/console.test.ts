import { expect, test } from 'vitest';
import { createAudit } from '../../../services/cli/audit/audit.ts';
import { createConsoleModel, storedConsole } from '../../../services/console/model/console-model.ts';
import { findTurns, outcomeOf } from '../../../services/console/model/find-turns.ts';
import { explain } from '../../../services/console/reasons.ts';
import { allIds, allTurns } from '../../../services/console/testing/all-turns.ts';
import type { Topic } from '../../../shared/events/define-event.ts';
import type { Recorded } from '../../../shared/log/event-log.ts';
import { placeName, unpackPlace } from '../../../shared/views/place.ts';
import { runHistory } from './run-history.ts';

type Record = { readonly topic: Topic; readonly record: Recorded };

function recordsOf(seed: number): readonly Record[] {
  const { world } = runHistory(seed);
  return (['conversations', 'turns', 'training'] as const).flatMap((topic) =>
    world.records[topic].flatMap((events, partition) =>
      events.map((event, offset) => ({
        topic,
        record: { event, at: { partition, offset }, time: Date.parse(event.time) },
      })),
    ),
  );
}

/** The turn that a record names anywhere in its data, found without the console's code. */
function namesTurn({ event }: Recorded, id: string): boolean {
  const { turnId, interactionId, sampleId } = event.data as { [name: string]: unknown };
  return [turnId, interactionId, sampleId].some(
    (name) => name === id || (typeof name === 'string' && name.startsWith(`${id}~`)),
  );
}

const seeds = Array.from({ length: 6 }, (_, i) => i + 1);

test.each(seeds)(
  'in the history of seed %i, every turn has its whole chain and its outcome, as the audit counts them',
  (seed) => {
    const records = recordsOf(seed);
    const [model, audit] = [createConsoleModel(), createAudit()];
    for (const { topic, record } of records) {
      model.on(record, topic);
      audit.on({ topic, ...record });
    }
    const { counts } = audit.report();
    const rows = model.turns;
    expect(rows.size()).toBe(counts.interactions);
    let [inBatch, notTrained] = [0, 0];
    const firstSamples = new Map(
      records.flatMap(({ record: { event } }) =>
        event.type === 'batch.submitted'
          ? [[event.data.batchId, new Set(event.data.samples.map(({ sampleId }) => sampleId))] as const]
          : [],
      ),
    );
    for (const { row, view } of allTurns(rows)) {
      const places = new Set(row.places.map((place) => placeName(unpackPlace(place))));
      for (const { topic, record } of records.filter((one) => namesTurn(one.record, row.id)))
        expect(places, `${record.event.type} of ${row.id}`).toContain(placeName({ topic, ...record.at }));
      // every batch that names it, with the outcome of the step
      for (const { record } of records) {
        if (record.event.type !== 'batch.submitted') continue;
        if (!record.event.data.samples.some(({ sampleId }) => sampleId.replace(/~\d+$/, '') === row.id))
          continue;
        const batch = rows.batch(record.event.data.batchId)!;
        expect(row.batches).toContain(batch.id);
        const types = batch.places.map((place) => {
          const { topic, partition, offset } = unpackPlace(place);
          return records.find(
            (one) =>
              one.topic === topic && one.record.at.partition === partition && one.record.at.offset === offset,
          )!.record.event.type;
        });
        expect(
          types.some((type) => ['policy.promoted', 'policy.rejected', 'policy.update-failed'].includes(type)),
        ).toBe(true);
      }
      expect(outcomeOf(view), `${row.id}: ${JSON.stringify(view.stage)}`).not.toBe('open'); // the history has ended
      // the audit counts a turn by its first sample; one of a revised verdict is another
      if (row.batches.some((id) => firstSamples.get(id)!.has(row.id))) inBatch += 1;
      else notTrained += 1;
      const why = explain(view);
      expect(why === undefined).toBe(view.stage.kind === 'trained');
      if (why !== undefined)
        expect(why.why === '' || why.change === '', JSON.stringify(view.stage)).toBe(false);
    }
    expect({ inBatch, notTrained }).toEqual({
      inBatch: counts['in a batch'] ?? 0,
      notTrained: (counts.interactions ?? 0) - (counts['in a batch'] ?? 0),
    });
  },
);

const noTexts = () => ({ asked: '', answered: '', reaction: '', inferred: undefined, hints: [] });

test('pages of any size give every turn once, newest first', async () => {
  const model = createConsoleModel();
  for (const { topic, record } of recordsOf(1)) model.on(record, topic);
  const all: string[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < 1_000; page++) {
    const { turns, next } = await findTurns(model.turns, {}, { cursor, limit: 7, texts: noTexts });
    all.push(...turns.map(({ row }) => row.id));
    if (next === null) break;
    cursor = next;
  }
  expect(all).toEqual(allIds(model.turns).toReversed());
});

test.each([1, 2, 3])(
  'a console that goes on from its stored states knows what one knows that read all, seed %i',
  (seed) => {
    const records = recordsOf(seed);
    const read = (model: ReturnType<typeof createConsoleModel>, part: readonly Record[]) => {
      for (const { topic, record } of part) model.on(record, topic);
      return model;
    };
    const asStored = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
    const all = read(createConsoleModel(), records);
    const adapter = all.decisions.names()[0]!;
    for (const share of [0.1, 0.5, 0.9, 0.95, 1]) {
      const cut = Math.floor(share * records.length);
      const before = read(createConsoleModel(), records.slice(0, cut));
      const others = storedConsole.state.parse(asStored(before.others()));
      const after = read(createConsoleModel({ turns: before.turns, others }), records.slice(cut));
      expect(asStored(after.others())).toEqual(asStored(all.others()));
      expect(allTurns(after.turns)).toEqual(allTurns(all.turns));
      expect(after.decisions.of(adapter).versions()).toEqual(all.decisions.of(adapter).versions());
      expect(after.decisions.of(adapter).watch.watched()).toEqual(all.decisions.of(adapter).watch.watched());
      expect(after.cautions()).toEqual(all.cautions());
    }
  },
);

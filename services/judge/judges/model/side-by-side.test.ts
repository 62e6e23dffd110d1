import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AT_ONCE, createSideBySide } from './side-by-side.ts';

const END = 3;
const vocabulary = 4;
const piece = 2;

/** A fake model: the logits depend only on the last token. */
const logitsAfter = (id: number): Float32Array =>
  Float32Array.from({ length: vocabulary }, (_, next) => Math.sin(7 * id + 3 * next));

/** Counts its slots like the real decoder and refuses more than `AT_ONCE`. */
function fakeDecoder() {
  const slots = new Map<number, { readonly ids: readonly number[]; read: number }>();
  let [most, longest] = [0, 0];
  const decoder = {
    begin: (ids: readonly number[]) => {
      const slot = Array.from({ length: AT_ONCE }, (_, at) => at).find((at) => !slots.has(at));
      if (slot === undefined) throw new Error('full');
      slots.set(slot, { ids, read: 0 });
      most = Math.max(most, slots.size);
      longest = Math.max(
        longest,
        slots.size * Math.max(...[...slots.values()].map((entry) => entry.ids.length)),
      );
      return slot;
    },
    read: (slot: number) => {
      const entry = slots.get(slot)!;
      entry.read = Math.min(entry.ids.length, entry.read + piece);
      const isRead = entry.read === entry.ids.length;
      return isRead ? { logits: logitsAfter(entry.ids.at(-1)!), cachedTokens: 0 } : undefined;
    },
    step: (entries: readonly { readonly slot: number; readonly id: number }[]) => {
      for (const { slot } of entries) if (!slots.has(slot)) throw new Error(`nothing in slot ${slot}`);
      return entries.map(({ id }) => logitsAfter(id));
    },
    release: (slot: number) => {
      if (!slots.delete(slot)) throw new Error(`slot ${slot} is free`);
    },
  };
  return { decoder, slots: () => slots.size, most: () => most, longest: () => longest };
}

function open({ cachePositions = 1000, maxTokens = 12, maxPositions = 40, temperature = 0.6 } = {}) {
  const fake = fakeDecoder();
  const answersById = new Map<number, readonly number[]>();
  const answers = createSideBySide({
    decoder: fake.decoder,
    sampling: { temperature },
    endIds: new Set([END]),
    maxTokens,
    maxPositions,
    cachePositions,
    answered: ({ id }, ids) => {
      if (answersById.has(id)) throw new Error(`${id} is answered twice`);
      answersById.set(id, ids);
    },
  });
  const finish = () => {
    let steps = 0;
    while (answers.advance()) if (++steps > 10_000) throw new Error('it does not end');
  };
  return { answers, answersById, finish, fake };
}

const question = (id: number, seed = id, length = 3) => ({ id, seed, promptIds: Array(length).fill(1) });

test('the same seed gives the same answer, alone and in parallel', () => {
  const alone = open();
  alone.answers.ask(question(0, 42));
  alone.finish();
  const among = open();
  for (let id = 0; id < 10; id++) among.answers.ask(question(id, id === 7 ? 42 : 100 + id));
  among.finish();
  expect(among.answersById.get(7)).toEqual(alone.answersById.get(0));
  expect(new Set([...among.answersById.values()].map(String)).size).toBeGreaterThan(5);
});

test('each question is answered once or dropped, and all slots are released', () => {
  const asked = fc.record({
    length: fc.integer({ min: 1, max: 39 }),
    dropAfter: fc.integer({ min: 0, max: 60 }),
  });
  fc.assert(
    fc.property(
      fc.array(asked, { maxLength: 12 }),
      fc.integer({ min: 40, max: 200 }),
      (all, cachePositions) => {
        const { answers, answersById, finish, fake } = open({ cachePositions });
        for (const [id, { length }] of all.entries()) answers.ask(question(id, id, length));
        const droppedAt = (step: number) =>
          all.flatMap(({ dropAfter }, id) => (dropAfter === step && !answersById.has(id) ? [id] : []));
        const dropped = new Set<number>();
        for (let step = 0; step < 30; step++) {
          for (const id of droppedAt(step)) {
            dropped.add(id);
            answers.drop(id);
          }
          answers.advance();
        }
        finish();
        expect(new Set([...answersById.keys(), ...dropped]).size).toBe(all.length);
        expect(answersById.size + dropped.size).toBe(all.length);
        for (const [id, ids] of answersById) {
          expect(ids).not.toContain(END);
          expect(ids.length).toBeLessThanOrEqual(Math.min(12, 40 - all[id]!.length));
        }
        expect(fake.slots()).toBe(0);
        expect(fake.most()).toBeLessThanOrEqual(AT_ONCE);
        expect(fake.longest()).toBeLessThanOrEqual(cachePositions);
      },
    ),
    { seed: 5, numRuns: 300 },
  );
});

test('a failure at any step names its question and releases its slot', () => {
  const failing = (part: 'begin' | 'read' | 'step', from: number) => {
    const run = open();
    const { decoder } = run.fake;
    const own = decoder[part] as (...input: readonly unknown[]) => unknown;
    let calls = 0;
    const broken = Float32Array.from({ length: vocabulary }, () => Number.NaN);
    Object.assign(decoder, {
      [part]: (...input: readonly unknown[]) => {
        calls += 1;
        if (calls < from) return own(...input);
        if (part === 'begin') throw new Error('no room');
        if (part === 'read') return { logits: broken, cachedTokens: 0 };
        const rows = own(...input) as readonly Float32Array[];
        return rows.map((row, at) => (at === rows.length - 1 ? broken : row));
      },
    });
    for (let id = 0; id < 6; id++) run.answers.ask(question(id));
    expect(run.finish, `${part} ${from}`).toThrow();
    const left = run.answers.dropAll();
    expect([...left, ...run.answersById.keys()].sort(), `${part} ${from}`).toEqual([0, 1, 2, 3, 4, 5]);
    expect(run.fake.slots(), `${part} ${from}`).toBe(0);
  };
  for (const part of ['begin', 'read', 'step'] as const) for (const from of [1, 2, 3, 5]) failing(part, from);
});

test('dropAll returns all questions and releases all slots', () => {
  const { answers, fake, finish, answersById } = open();
  for (let id = 0; id < 6; id++) answers.ask(question(id));
  for (let step = 0; step < 3; step++) answers.advance();
  const left = answers.dropAll();
  expect([...left, ...answersById.keys()].sort()).toEqual([0, 1, 2, 3, 4, 5]);
  expect(fake.slots()).toBe(0);
  answers.ask(question(9));
  finish();
  expect(answersById.has(9)).toBe(true);
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { adapters, nameOf, numberOf, policyOf, schedulerFixture } from './testing/scheduler-setup.ts';

test('random requests: each answer is of one version, none is lost, and memory is freed', async () => {
  const action = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('ask' as const),
        tokens: fc.integer({ min: 1, max: 9 }),
        promptTokens: fc.integer({ min: 1, max: 7 }),
        adapter: fc.constantFrom(...adapters),
        pinned: fc.option(fc.nat(4)),
        choices: fc.integer({ min: 1, max: 3 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('serve' as const),
        adapter: fc.constantFrom(...adapters),
        version: fc.nat(4),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('abort' as const), which: fc.nat(30) }) },
    { weight: 2, arbitrary: fc.constant({ do: 'wait' as const }) },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { maxLength: 40 }),
      fc.integer({ min: 1, max: 3 }),
      fc.nat(2),
      fc.integer({ min: 16, max: 40 }),
      async (actions, maxBatch, kept, positions) => {
        const { scheduler, inMemory, runAll, budget } = schedulerFixture(maxBatch, kept, { positions });
        for (const adapter of adapters) await scheduler.serve(adapter, policyOf(0));
        const asked: {
          readonly id: number;
          readonly adapter: string;
          readonly pinned: number | null;
          readonly outcome: Promise<unknown>;
        }[] = [];
        for (const one of actions) {
          if (one.do === 'ask') {
            const target =
              one.pinned === null
                ? { kind: 'live' as const, adapter: one.adapter }
                : { kind: 'pinned' as const, ...policyOf(one.pinned, one.adapter) };
            const { id, outcomes } = runAll(one.choices, one.tokens, {
              target,
              promptTokens: one.promptTokens,
            });
            for (const outcome of outcomes) {
              const settled = outcome.then(
                ({ version, seen, finishReason }) => ({ version, seen, finishReason, tokens: one.tokens }),
                (error: { code?: string }) => error.code ?? error,
              );
              asked.push({ id, adapter: one.adapter, pinned: one.pinned, outcome: settled });
            }
          }
          if (one.do === 'serve') await scheduler.serve(one.adapter, policyOf(one.version, one.adapter));
          if (one.do === 'abort') scheduler.abort(one.which);
          if (one.do === 'wait') await new Promise((resolve) => setImmediate(resolve));
        }
        const versionOf = new Map<number, number>();
        for (const { id, adapter, pinned, outcome } of asked) {
          const settled = await outcome;
          if (settled === 'stopping') continue; // aborted before it began
          if (settled instanceof Error) throw settled;
          const { version, seen, finishReason, tokens } = settled as {
            version: number;
            seen: number[];
            finishReason: string;
            tokens: number;
          };
          expect(new Set(seen)).toEqual(new Set([numberOf(policyOf(version, adapter))]));
          if (pinned !== null) expect(version).toBe(pinned);
          expect(versionOf.get(id) ?? version).toBe(version); // of all choices of a request
          versionOf.set(id, version);
          if (finishReason === 'length') expect(seen).toHaveLength(tokens);
        }
        expect(scheduler.counters()).toMatchObject({ running: 0, waiting: 0 });
        expect(budget.taken).toBe(0);
        expect(inMemory.size).toBeLessThanOrEqual(adapters.length + kept);
        expect(scheduler.counters().versions).toEqual([...inMemory].map(nameOf).sort());
      },
    ),
    { numRuns: 200, seed: 4 },
  );
});

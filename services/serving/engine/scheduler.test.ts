import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Generated, PolicyVersion } from './engine.ts';
import type { SequenceRequest } from './protocol.ts';
import { createScheduler } from './scheduler.ts';
import type { Sequence } from './sequence.ts';
import { type BatchDecoder, createVersions } from './versions.ts';

/** A decoder whose logits tell its version, and that notices what must not happen. */
function versionDecoder(version: number, size: number, made: Set<number>): BatchDecoder {
  const active = new Set<number>();
  made.add(version);
  const logits = () => Float32Array.of(version);
  return {
    admit: () => {
      const slot = Array.from({ length: size }, (_, index) => index).find((index) => !active.has(index));
      if (slot === undefined) throw new Error('full');
      active.add(slot);
      return { slot, logits: logits() };
    },
    step: (entries) => {
      if (entries.length > size || new Set(entries.map(({ slot }) => slot)).size < entries.length)
        throw new Error('two in one slot');
      for (const { slot } of entries) if (!active.has(slot)) throw new Error('stepped after its release');
      return entries.map(logits);
    },
    release: (slot) => {
      if (!active.delete(slot)) throw new Error('released twice');
    },
    dispose: () => {
      if (active.size > 0) throw new Error('disposed while in use');
      made.delete(version);
    },
  };
}

/** An answer of as many tokens as were asked for, which remembers what sampled them. */
function countingSequence({ prompt }: SequenceRequest): Sequence {
  const seen: number[] = [];
  return {
    take: ([version]) => {
      seen.push(version!);
      return { next: seen.length < prompt.maxTokens ? 1 : undefined, chunk: { text: '.', tokens: [] } };
    },
    result: (version) =>
      ({
        version,
        finishReason: seen.length < prompt.maxTokens ? 'aborted' : 'length',
        seen,
      }) as unknown as Generated,
  };
}

const request = (tokens: number, target: SequenceRequest['target']): SequenceRequest => ({
  target,
  callsTools: false,
  sampling: { stop: [], frequencyPenalty: 0, presencePenalty: 0, repetitionPenalty: 1, logitBias: [] },
  prompt: { promptIds: [1], maxTokens: tokens },
});

function world(maxBatch: number, kept: number) {
  const inMemory = new Set<number>();
  const versions = createVersions({
    kept,
    loadAdapter: async ({ version }: PolicyVersion) => ({ version, dispose: () => {} }) as never,
    createDecoder: (adapter) =>
      versionDecoder((adapter as unknown as { version: number }).version, maxBatch, inMemory),
  });
  const scheduler = createScheduler({ versions, maxBatch, beginSequence: countingSequence });
  let id = 0;
  const run = (
    tokens: number,
    target: SequenceRequest['target'],
    onChunk: (id: number) => void = () => {},
  ) => {
    const mine = id++;
    const outcome = new Promise<Generated & { readonly seen: readonly number[] }>((resolve, reject) =>
      scheduler.add(mine, request(tokens, target), {
        started: () => {},
        chunk: () => onChunk(mine),
        generated: (generated) => resolve(generated as never),
        failed: reject,
      }),
    );
    return { id: mine, outcome };
  };
  return { scheduler, inMemory, run };
}

test('requests wait for the first version, then share its steps', async () => {
  const { scheduler, run } = world(4, 0);
  const answers = [5, 5, 5, 5].map((tokens) => run(tokens, { kind: 'live' }).outcome);
  expect(scheduler.counters()).toMatchObject({ waiting: 4, running: 0 });
  await scheduler.serve({ version: 3 });
  for (const { version, seen } of await Promise.all(answers)) expect([version, seen.length]).toEqual([3, 5]);
  const { steps, stepSequences } = scheduler.counters();
  expect(stepSequences).toBe(16);
  expect(steps).toBeLessThanOrEqual(8);
});

test('whatever comes, each answer is of one version, none is lost, and memory is given back', async () => {
  const action = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('ask' as const),
        tokens: fc.integer({ min: 1, max: 9 }),
        pinned: fc.option(fc.nat(4)),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('serve' as const), version: fc.nat(4) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('abort' as const), which: fc.nat(30) }) },
    { weight: 2, arbitrary: fc.constant({ do: 'wait' as const }) },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { maxLength: 40 }),
      fc.integer({ min: 1, max: 3 }),
      fc.nat(2),
      async (actions, maxBatch, kept) => {
        const { scheduler, inMemory, run } = world(maxBatch, kept);
        await scheduler.serve({ version: 0 });
        const asked: { readonly pinned: number | null; readonly outcome: Promise<unknown> }[] = [];
        for (const one of actions) {
          if (one.do === 'ask') {
            const target =
              one.pinned === null
                ? { kind: 'live' as const }
                : { kind: 'pinned' as const, version: one.pinned };
            const { outcome } = run(one.tokens, target);
            const settled = outcome.then(
              ({ version, seen, finishReason }) => ({ version, seen, finishReason, tokens: one.tokens }),
              (error: { code?: string }) => error.code ?? error,
            );
            asked.push({ pinned: one.pinned, outcome: settled });
          }
          if (one.do === 'serve') await scheduler.serve({ version: one.version });
          if (one.do === 'abort') scheduler.abort(one.which);
          if (one.do === 'wait') await new Promise((resolve) => setImmediate(resolve));
        }
        for (const { pinned, outcome } of asked) {
          const settled = await outcome;
          if (settled === 'stopping') continue; // given up before it began
          const { version, seen, finishReason, tokens } = settled as {
            version: number;
            seen: number[];
            finishReason: string;
            tokens: number;
          };
          expect(new Set(seen)).toEqual(new Set([version]));
          if (pinned !== null) expect(version).toBe(pinned);
          if (finishReason === 'length') expect(seen).toHaveLength(tokens);
        }
        expect(scheduler.counters()).toMatchObject({ running: 0, waiting: 0 });
        expect(inMemory.size).toBeLessThanOrEqual(1 + kept);
        expect(scheduler.counters().versions).toEqual([...inMemory].sort());
      },
    ),
    { numRuns: 200, seed: 4 },
  );
});

test('a decoder that fails ends its answers, and the others go on', async () => {
  const { scheduler, run } = world(2, 1);
  await scheduler.serve({ version: 1 });
  const broken = createVersions({
    kept: 0,
    loadAdapter: async () => undefined,
    createDecoder: () => ({
      admit: () => ({ slot: 0, logits: Float32Array.of(0) }),
      step: () => {
        throw new Error('out of memory');
      },
      release: () => {},
      dispose: () => {},
    }),
  });
  const other = createScheduler({ versions: broken, maxBatch: 2, beginSequence: countingSequence });
  await other.serve({ version: 0 });
  const failed = new Promise((resolve) =>
    other.add(0, request(5, { kind: 'live' }), {
      started: () => {},
      chunk: () => {},
      generated: resolve,
      failed: resolve,
    }),
  );
  expect(await failed).toMatchObject({ message: 'out of memory' });
  expect(other.counters().running).toBe(0);
  expect((await run(3, { kind: 'live' }).outcome).seen).toEqual([1, 1, 1]);
});

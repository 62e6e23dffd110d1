import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Generated, PolicyVersion } from './engine.ts';
import type { SequenceRequest } from './protocol.ts';
import { createRecentPrompts } from './recent-prompts.ts';
import { createScheduler } from './scheduler.ts';
import type { Sequence } from './sequence.ts';
import { type BatchDecoder, createVersions } from './versions.ts';

/** Tokens of a prompt that are read at once. */
const PIECE = 2;

/** Positions that the decoders of all versions may have together; each sequence has its own and one more. */
type Budget = { readonly positions: number; taken: number };

/** A decoder whose logits tell its version, and that notices what must not happen. */
function versionDecoder(version: number, size: number, made: Set<number>, budget: Budget): BatchDecoder {
  const held = new Map<number, { readonly ids: number[]; read: number }>();
  made.add(version);
  const logits = () => Float32Array.of(version);
  /** Prompts are zeros, and the answer's tokens count up from 1: none may be missing, or come twice. */
  const check = (ids: readonly number[]) => {
    const start = ids.findIndex((id) => id !== 0);
    if (start === -1) return;
    ids.slice(start).forEach((id, index) => {
      if (id !== index + 1) throw new Error(`not what was said: ${ids}`);
    });
  };
  return {
    begin: (ids) => {
      check(ids);
      const slot = Array.from({ length: size }, (_, index) => index).find((index) => !held.has(index));
      if (slot === undefined || budget.taken + ids.length + 1 > budget.positions) throw new Error('full');
      budget.taken += ids.length + 1;
      held.set(slot, { ids: [...ids], read: 0 });
      return slot;
    },
    read: (slot) => {
      const sequence = held.get(slot)!;
      if (sequence.read >= sequence.ids.length) throw new Error('read twice');
      sequence.read += PIECE;
      return sequence.read < sequence.ids.length ? undefined : { logits: logits(), cachedTokens: 1 };
    },
    step: (entries) => {
      if (new Set(entries.map(({ slot }) => slot)).size < entries.length) throw new Error('two in one slot');
      if (budget.taken > budget.positions) throw new Error('too many positions');
      for (const { slot, id } of entries) {
        const sequence = held.get(slot);
        if (sequence === undefined) throw new Error('stepped after its release');
        if (sequence.read < sequence.ids.length) throw new Error('stepped before it was read');
        sequence.ids.push(id);
        sequence.read = sequence.ids.length;
        budget.taken += 1;
        check(sequence.ids);
      }
      return entries.map(logits);
    },
    hasRoom: (tokens) => budget.taken + tokens + 1 <= budget.positions,
    canStep: () => held.size === 0 || budget.taken <= budget.positions,
    release: (slot) => {
      const sequence = held.get(slot);
      if (sequence === undefined) throw new Error('released twice');
      budget.taken -= sequence.ids.length + 1;
      held.delete(slot);
    },
    dispose: () => {
      if (held.size > 0) throw new Error('disposed while in use');
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
      return {
        next: seen.length < prompt.maxTokens ? seen.length : undefined,
        chunk: { text: '.', tokens: [] },
      };
    },
    result: (version) =>
      ({
        version,
        finishReason: seen.length < prompt.maxTokens ? 'aborted' : 'length',
        seen,
      }) as unknown as Generated,
  };
}

const request = (tokens: number, target: SequenceRequest['target'], promptTokens = 1): SequenceRequest => ({
  target,
  callsTools: false,
  sampling: { stop: [], frequencyPenalty: 0, presencePenalty: 0, repetitionPenalty: 1, logitBias: [] },
  prompt: { promptIds: Array(promptTokens).fill(0), maxTokens: tokens },
});

function world(maxBatch: number, kept: number, { positions = 1e9, maxWaiting = 100 } = {}) {
  const budget = { positions, taken: 0 };
  const inMemory = new Set<number>();
  const versions = createVersions({
    kept,
    loadAdapter: async ({ version }: PolicyVersion) => ({ version, dispose: () => {} }) as never,
    createDecoder: (adapter) =>
      versionDecoder((adapter as unknown as { version: number }).version, maxBatch, inMemory, budget),
  });
  const scheduler = createScheduler({
    ...{ versions, maxBatch, maxWaiting, recent: createRecentPrompts(2, 1) },
    beginSequence: countingSequence,
  });
  let id = 0;
  type Counted = Generated & { readonly seen: readonly number[] };
  const runAll = (
    choices: number,
    tokens: number,
    target: SequenceRequest['target'],
    onChunk: (id: number, choice: number) => void = () => {},
    promptTokens = 1,
  ) => {
    const mine = id++;
    const asked = Array.from({ length: choices }, () => Promise.withResolvers<Counted>());
    scheduler.add(
      mine,
      asked.map(({ resolve, reject }, choice) => ({
        request: request(tokens, target, promptTokens),
        listener: {
          started: () => {},
          chunk: () => onChunk(mine, choice),
          generated: (generated) => resolve(generated as never),
          failed: reject,
        },
      })),
    );
    return { id: mine, outcomes: asked.map(({ promise }) => promise) };
  };
  const run = (
    tokens: number,
    target: SequenceRequest['target'],
    onChunk?: (id: number) => void,
    promptTokens?: number,
  ) => {
    const { id, outcomes } = runAll(1, tokens, target, onChunk, promptTokens);
    return { id, outcome: outcomes[0]! };
  };
  return { scheduler, inMemory, run, runAll, budget };
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
        promptTokens: fc.integer({ min: 1, max: 7 }),
        pinned: fc.option(fc.nat(4)),
        choices: fc.integer({ min: 1, max: 3 }),
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
      fc.integer({ min: 16, max: 40 }),
      async (actions, maxBatch, kept, positions) => {
        const { scheduler, inMemory, runAll, budget } = world(maxBatch, kept, { positions });
        await scheduler.serve({ version: 0 });
        const asked: {
          readonly id: number;
          readonly pinned: number | null;
          readonly outcome: Promise<unknown>;
        }[] = [];
        for (const one of actions) {
          if (one.do === 'ask') {
            const target =
              one.pinned === null
                ? { kind: 'live' as const }
                : { kind: 'pinned' as const, version: one.pinned };
            const { id, outcomes } = runAll(one.choices, one.tokens, target, undefined, one.promptTokens);
            for (const outcome of outcomes) {
              const settled = outcome.then(
                ({ version, seen, finishReason }) => ({ version, seen, finishReason, tokens: one.tokens }),
                (error: { code?: string }) => error.code ?? error,
              );
              asked.push({ id, pinned: one.pinned, outcome: settled });
            }
          }
          if (one.do === 'serve') await scheduler.serve({ version: one.version });
          if (one.do === 'abort') scheduler.abort(one.which);
          if (one.do === 'wait') await new Promise((resolve) => setImmediate(resolve));
        }
        const versionOf = new Map<number, number>();
        for (const { id, pinned, outcome } of asked) {
          const settled = await outcome;
          if (settled === 'stopping') continue; // given up before it began
          if (settled instanceof Error) throw settled;
          const { version, seen, finishReason, tokens } = settled as {
            version: number;
            seen: number[];
            finishReason: string;
            tokens: number;
          };
          expect(new Set(seen)).toEqual(new Set([version]));
          if (pinned !== null) expect(version).toBe(pinned);
          expect(versionOf.get(id) ?? version).toBe(version); // of all choices of a request
          versionOf.set(id, version);
          if (finishReason === 'length') expect(seen).toHaveLength(tokens);
        }
        expect(scheduler.counters()).toMatchObject({ running: 0, waiting: 0 });
        expect(budget.taken).toBe(0);
        expect(inMemory.size).toBeLessThanOrEqual(1 + kept);
        expect(scheduler.counters().versions).toEqual([...inMemory].sort());
      },
    ),
    { numRuns: 200, seed: 4 },
  );
});

test('a long prompt is read between the steps of those that run', async () => {
  const { scheduler, run } = world(2, 0);
  await scheduler.serve({ version: 0 });
  let said = 0;
  const running = run(60, { kind: 'live' }, () => {
    said += 1;
  });
  const before = said;
  let begun = 0;
  const long = run(
    1,
    { kind: 'live' },
    () => {
      begun = said;
    },
    100,
  );
  await long.outcome;
  expect(begun - before).toBeGreaterThanOrEqual(100 / PIECE - 1);
  await running.outcome;
});

test('where there is no room for all, the youngest go on later; the oldest is not disturbed', async () => {
  const { scheduler, run } = world(4, 0, { positions: 24 });
  await scheduler.serve({ version: 0 });
  const ended: number[] = [];
  const answers = [0, 1, 2, 3].map(() => {
    const { id, outcome } = run(12, { kind: 'live' }, undefined, 4);
    return outcome.then(({ seen }) => {
      ended.push(id);
      return seen.length;
    });
  });
  expect(await Promise.all(answers)).toEqual([12, 12, 12, 12]);
  expect(ended).toEqual([0, 1, 2, 3]);
  expect(scheduler.counters().preemptions).toBeGreaterThan(0);
});

test('more than may wait are told to come again', async () => {
  const { scheduler, run } = world(1, 0, { maxWaiting: 3 });
  const first = [1, 2, 3].map(() => run(2, { kind: 'live' }).outcome);
  await expect(run(2, { kind: 'live' }).outcome).rejects.toMatchObject({
    code: 'engine_busy',
    status: 429,
    retryAfterSeconds: 3,
  });
  await scheduler.serve({ version: 0 });
  for (const { seen } of await Promise.all(first)) expect(seen).toHaveLength(2);
  expect((await run(2, { kind: 'live' }).outcome).seen).toHaveLength(2);
});

test('choices wait all or none, and where only some have begun the others still get their version', async () => {
  const { scheduler, runAll } = world(2, 0, { maxWaiting: 5 });
  const refused = (outcomes: readonly Promise<unknown>[]) =>
    Promise.all(outcomes.map((outcome) => outcome.catch(({ code }: { code: string }) => code)));
  const three = runAll(3, 4, { kind: 'live' });
  expect(await refused(runAll(3, 4, { kind: 'live' }).outcomes)).toEqual(Array(3).fill('engine_busy'));
  await scheduler.serve({ version: 1 });
  await new Promise((resolve) => setImmediate(resolve));
  expect(scheduler.counters()).toMatchObject({ running: 2, waiting: 1 });
  await scheduler.serve({ version: 2 });
  const versions = (await Promise.all(three.outcomes)).map(({ version }) => version);
  expect(versions).toEqual([1, 1, 1]);
  expect(scheduler.counters().versions).toEqual([2]);
});

test('a version that reads ahead makes room for those who wait for an answer', async () => {
  const { scheduler, run } = world(2, 0, { positions: 60 });
  const aTurn = () => new Promise((resolve) => setImmediate(resolve));
  await scheduler.serve({ version: 1 });
  await run(2, { kind: 'live' }, undefined, 40).outcome;
  const serving = scheduler.serve({ version: 2 });
  await aTurn();
  const asked = run(1, { kind: 'live' }, undefined, 30);
  await aTurn(); // no more than one, of the 20 that the version would read
  expect(scheduler.counters()).toMatchObject({ running: 1, waiting: 0 });
  await Promise.all([serving, asked.outcome]);
  expect(scheduler.counters().versions).toEqual([2]);
});

test('a rollback does not wait for reading ahead: what was left goes out of service at once', async () => {
  const { scheduler, run } = world(2, 2);
  await scheduler.serve({ version: 1 });
  await scheduler.serve({ version: 2 });
  await run(2, { kind: 'live' }, undefined, 400).outcome;
  const served = scheduler.serve({ version: 1 });
  await new Promise((resolve) => setImmediate(resolve));
  expect((await run(1, { kind: 'live' }).outcome).version).toBe(1);
  await served;
});

test('a version that is rolled back while it reads ahead is not served, and leaves nothing', async () => {
  const { scheduler, run, inMemory, budget } = world(2, 0);
  await scheduler.serve({ version: 1 });
  await run(2, { kind: 'live' }, undefined, 400).outcome;
  const stop = new AbortController();
  const serving = scheduler.serve({ version: 2 }, stop.signal);
  await new Promise((resolve) => setImmediate(resolve));
  stop.abort();
  await expect(serving).rejects.toMatchObject({ name: 'STOPPING' });
  expect((await run(1, { kind: 'live' }).outcome).version).toBe(1);
  expect([[...inMemory], budget.taken]).toEqual([[1], 0]);
});

test('a version reads on while others only wait for their place in the batch', async () => {
  const { scheduler, run } = world(1, 0);
  await scheduler.serve({ version: 1 });
  await run(2, { kind: 'live' }, undefined, 40).outcome;
  const running = run(200, { kind: 'live' });
  const waiting = run(1, { kind: 'live' });
  let isServed = false;
  const serving = scheduler.serve({ version: 2 }).then(() => {
    isServed = true;
  });
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect([isServed, scheduler.counters()]).toMatchObject([false, { running: 1, waiting: 1 }]);
  await serving;
  expect((await waiting.outcome).version).toBe(2);
  expect((await running.outcome).version).toBe(1);
});

test('a decoder that fails ends its answers, and the others go on', async () => {
  const { scheduler, run } = world(2, 1);
  await scheduler.serve({ version: 1 });
  const broken = createVersions({
    kept: 0,
    loadAdapter: async () => undefined,
    createDecoder: () => ({
      begin: () => 0,
      read: () => ({ logits: Float32Array.of(0), cachedTokens: 0 }),
      ...{ hasRoom: () => true, canStep: () => true },
      step: () => {
        throw new Error('out of memory');
      },
      release: () => {},
      dispose: () => {},
    }),
  });
  const other = createScheduler({
    versions: broken,
    maxBatch: 2,
    maxWaiting: 9,
    recent: createRecentPrompts(0),
    beginSequence: countingSequence,
  });
  await other.serve({ version: 0 });
  const failed = new Promise((resolve) =>
    other.add(0, [
      {
        request: request(5, { kind: 'live' }),
        listener: { started: () => {}, chunk: () => {}, generated: resolve, failed: resolve },
      },
    ]),
  );
  expect(await failed).toMatchObject({ message: 'out of memory' });
  expect(other.counters().running).toBe(0);
  expect((await run(3, { kind: 'live' }).outcome).seen).toEqual([1, 1, 1]);
});

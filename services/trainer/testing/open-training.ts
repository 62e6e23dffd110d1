import { pino } from 'pino';
import type { BatchSubmitted } from '../../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { SampleReady } from '../../../shared/events/sample-ready.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { openCheckpointStore } from '../../../shared/policy/checkpoints/checkpoint-store.ts';
import { localTraining } from '../local-trainee.ts';
import { step } from '../step.ts';
import { type Training, trainOpenBatch } from '../train-open-batch.ts';
import { batchData, sampleData } from './facts.ts';
import { toyEngine } from './toy-engine.ts';

type Sample = SampleReady['data'];

/** For tests: a trainer of a toy model with a checkpoint store and an in-memory log. */
export function openTraining(store: string) {
  let events: ClawLoopEvent[] = [];
  let samples: readonly Sample[] = [];
  let steps = 0;
  const runner: Training['runner'] = {
    run: async (input, onProgress) => {
      steps += 1;
      const result = await step(localTraining(toyEngine), input, onProgress);
      return { result, fingerprint: 'toy', milliseconds: 1, tensors: 0 };
    },
  };
  const training = (): Training => ({
    log: {
      logId: 'this-log',
      append: async (added) => void events.push(...added),
      read: async (_, { offset }) =>
        SampleReady.create({
          id: `${samples[offset]!.sampleId}/ready`,
          source: 'clawloop/collector',
          time: '2026-01-01T00:00:00Z',
          data: samples[offset]!,
        }),
    },
    store: openCheckpointStore(store),
    parent: undefined,
    isParentHead: () => true,
    holdsVersions: false,
    runner,
    findModel: () => Promise.reject(new Error('no model is asked for')),
    base: { model: 'toy', folder: '/toy', digest: 'base-digest' },
    maxStrikes: 3,
    logger: pino({ level: 'silent' }),
    onProgress: () => {},
    onStep: () => {},
  });
  /** The checkpoint of a promoted version according to the log. */
  const promotedAs = (version: number): Training['parent'] =>
    events.flatMap((event) =>
      event.type === 'policy.promoted' && event.data.to === version ? [event.data] : [],
    )[0];
  return {
    runner,
    events: () => events,
    /** number of steps that ran */
    steps: () => steps,
    /** Restores the log to its first events. */
    restore: (facts: number) => {
      events = events.slice(0, facts);
    },
    /** @param earlier `earlier` of the batch, with positions in the same samples */
    train: (
      n: number,
      of: readonly Sample[],
      changes: Partial<Training> = {},
      earlier?: BatchSubmitted['data']['earlier'],
    ) => {
      samples = of;
      const plain: BatchSubmitted['data'] = batchData(n, of, { rank: 2, alpha: 2 });
      const batch = { ...plain, ...defined({ earlier }) };
      const whole = { ...training(), parent: promotedAs(batch.parent), ...changes };
      return trainOpenBatch(whole, batch, new AbortController().signal);
    },
  };
}

/** A liked and a disliked answer. */
export const twoSamples = (...[liked, disliked]: readonly [string, string]): readonly Sample[] => [
  sampleData(liked),
  sampleData(disliked, { verdict: -1, tokens: { responseIds: [2], logProbs: [-1.6] } }),
];

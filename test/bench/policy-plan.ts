import { availableParallelism } from 'node:os';
import { CLAW_NANO } from '../../shared/policy/model/model-folder.ts';
import { nameOf, type PolicyCase } from './policy-case.ts';

export const LARGE = 'smollm2-135m';

export type Planned = {
  readonly model: typeof CLAW_NANO | typeof LARGE;
  readonly case: PolicyCase;
  readonly threads: number;
  /**
   * Steps of each round. The ways alternate by rounds, so that a busy machine disturbs all alike. Eight rounds of
   * decoding stay within twice the context.
   */
  readonly steps: number;
  /** Steps before the first round; graphs are built in the first step. */
  readonly warmUpSteps: number;
  /** ms after which no further round begins. */
  readonly limitMs: number;
  /** The limits of our speed, measured op by op. */
  readonly limitedBy: string;
};

const cores = availableParallelism();
const nano = { model: CLAW_NANO, warmUpSteps: 2, limitMs: 25_000 } as const;
const large = { model: LARGE, warmUpSteps: 1, limitMs: 60_000 } as const;
const training = { kind: 'train', batch: 8, positions: 128 } as const;
const largeTraining = { kind: 'train', batch: 1, positions: 512 } as const;
const decoding = (sequences: number, context: number): PolicyCase => ({ kind: 'decode', sequences, context });

export const plan: readonly Planned[] = [
  {
    ...nano,
    case: { ...training, trains: 'lora' },
    threads: cores,
    steps: 4,
    limitedBy:
      'products are half, those of rank 16 among them; element-wise products (each reads and writes its ' +
      'operands whole) 16 %',
  },
  {
    ...nano,
    case: { ...training, trains: 'full' },
    threads: cores,
    steps: 4,
    limitedBy:
      'products 45 %, element-wise products (each reads and writes its operands whole) 18 %, ' +
      'attention 10 %; then AdamW on typed arrays and the upload of the new weights, both on one thread',
  },
  {
    ...nano,
    case: decoding(1, 128),
    threads: 1,
    steps: 14,
    limitedBy: '270 small ops, one after the other: 3 µs each in a graph, 15 when called one by one',
  },
  {
    ...nano,
    case: decoding(4, 128),
    threads: 1,
    steps: 14,
    limitedBy: 'the same ops; a step of four takes little more than a step of one',
  },
  {
    ...nano,
    case: decoding(16, 128),
    threads: 1,
    steps: 14,
    limitedBy: 'products with weights are a quarter, attention over the cache a fifth; the rest is small ops',
  },
  {
    ...nano,
    case: { kind: 'prefill', tokens: 512 },
    threads: cores,
    steps: 6,
    limitedBy: 'two pieces of 256, so that others step in between; each attends on its own',
  },
  {
    ...large,
    case: { ...largeTraining, trains: 'lora' },
    threads: cores,
    steps: 1,
    limitedBy:
      'products with frozen weights, at 100 GFLOP/s a core, are three quarters; attention, in four blocks, is ' +
      'most of the rest',
  },
  {
    ...large,
    case: decoding(1, 256),
    threads: cores,
    steps: 8,
    limitedBy: '540 MB of weights are read per token, at 10 GB/s: nine tenths of the step',
  },
  {
    ...large,
    case: decoding(4, 256),
    threads: cores,
    steps: 8,
    limitedBy: 'reading the weights, and then the products: 4 rows are too few for more than 20 GFLOP/s',
  },
  {
    ...large,
    case: decoding(16, 256),
    threads: cores,
    steps: 8,
    limitedBy:
      'products 62 %, at 50 GFLOP/s; attention 24 %, in products of three query rows each over all that ' +
      'is cached',
  },
  {
    ...large,
    case: { kind: 'prefill', tokens: 512 },
    threads: cores,
    steps: 2,
    limitedBy: 'products, at 100 GFLOP/s a core',
  },
  {
    ...large,
    case: { ...largeTraining, trains: 'full' },
    threads: cores,
    steps: 1,
    limitedBy:
      'products 75 %; then AdamW of 135 million weights on typed arrays and their upload, on one thread',
  },
];

export const titleOf = (planned: Planned): string => `${planned.model}: ${nameOf(planned.case)}`;

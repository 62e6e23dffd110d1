import type { Generated, PolicyVersion } from '../../../generation.ts';
import type { SequenceRequest } from '../../sequence-text.ts';
import { createRecentPrompts } from '../recent-prompts.ts';
import { createScheduler } from '../scheduler.ts';
import type { Sequence } from '../sequence.ts';
import { createVersions } from '../versions.ts';
import { versionDecoder } from './version-decoder.ts';

/** An answer with the requested number of tokens, which records the version behind each token. */
function countingSequence({ prompt, format }: SequenceRequest, onSlow: () => void): Sequence {
  const seen: number[] = [];
  return {
    take: ([version]) => {
      if (format !== undefined) onSlow();
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

/** A version of an adapter; v0 is the base of all adapters. */
export const policyOf = (version: number, adapter = 'alice'): PolicyVersion =>
  version === 0 ? { version } : { version, adapter: { name: adapter, folder: '', digest: '' } };

/** The number of a decoder: the version, plus 10 for each adapter after the first. */
export const numberOf = ({ version, adapter }: PolicyVersion): number =>
  version + 10 * Math.max(0, adapters.indexOf(adapter?.name ?? ''));
export const adapters: readonly string[] = ['alice', 'bob'];
export const nameOf = (number: number): string =>
  `${number === 0 ? 'base' : adapters[Math.floor(number / 10)]}@v${number % 10}`;

/** Options of a request. Default target: the live version of alice. */
type RunOptions = {
  readonly target?: SequenceRequest['target'];
  readonly promptTokens?: number;
  readonly onChunk?: () => void;
  /** Each of its tokens takes SLOW_MS to choose. */
  readonly isSlow?: boolean;
};

/** ms per token of a slow answer, on the fixture's clock */
export const SLOW_MS = 15;

/** A request for an answer of a given number of tokens. */
const request = (tokens: number, { target, promptTokens = 1, isSlow }: RunOptions = {}): SequenceRequest => ({
  target: target ?? { kind: 'live', adapter: 'alice' },
  callsTools: false,
  sampling: { stop: [], frequencyPenalty: 0, presencePenalty: 0, repetitionPenalty: 1, logitBias: [] },
  prompt: { promptIds: Array(promptTokens).fill(0), maxTokens: tokens },
  ...(isSlow ? { format: { kind: 'json', param: 'response_format' } } : {}),
});

type Limits = {
  readonly positions?: number;
  readonly maxWaiting?: number;
  /** Steps of this version fail. */
  readonly brokenVersion?: number;
};

/** A scheduler over decoders whose logits name their versions, with functions to run requests. */
export function schedulerFixture(
  maxBatch: number,
  kept: number,
  { positions = 1e9, maxWaiting = 100, brokenVersion }: Limits = {},
) {
  const budget = { positions, taken: 0 };
  const inMemory = new Set<number>();
  let clock = 0;
  const versions = createVersions({
    kept,
    loadAdapter: async (policy: PolicyVersion) => ({ number: numberOf(policy), dispose: () => {} }) as never,
    createDecoder: (adapter) => {
      const { number } = adapter as unknown as { readonly number: number };
      const decoder = versionDecoder(number, maxBatch, inMemory, budget);
      const step = () => {
        throw new Error('out of memory');
      };
      return number === brokenVersion ? { ...decoder, step } : decoder;
    },
  });
  const scheduler = createScheduler({
    versions,
    maxBatch,
    maxWaiting,
    recentPrompts: () => createRecentPrompts(2, 1),
    beginSequence: (asked) =>
      countingSequence(asked, () => {
        clock += SLOW_MS;
      }),
    now: () => clock,
  });
  let id = 0;
  type Counted = Generated & { readonly seen: readonly number[] };
  const runAll = (choices: number, tokens: number, asked: RunOptions = {}) => {
    const call = id++;
    const outcomes = Array.from({ length: choices }, () => Promise.withResolvers<Counted>());
    scheduler.add(
      call,
      outcomes.map(({ resolve, reject }) => ({
        request: request(tokens, asked),
        listener: {
          started: () => {},
          chunk: () => asked.onChunk?.(),
          generated: (generated) => resolve(generated as never),
          failed: reject,
        },
      })),
    );
    return { id: call, outcomes: outcomes.map(({ promise }) => promise) };
  };
  const run = (tokens: number, asked?: RunOptions) => {
    const { id, outcomes } = runAll(1, tokens, asked);
    return { id, outcome: outcomes[0]! };
  };
  return { scheduler, inMemory, run, runAll, budget, now: () => clock };
}

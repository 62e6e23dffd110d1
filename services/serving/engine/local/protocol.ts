import type { BackendChoice } from '../../../../shared/policy/executors/backend.ts';
import type {
  AnswerChunk,
  Choice,
  EngineCounters,
  GenerationRequest,
  PolicyVersion,
  PromptParts,
  Started,
} from '../../generation.ts';
import type { Prompt } from '../prompt.ts';
import type { SequenceRequest } from '../sequence-text.ts';

/** The setup of the prompt thread. */
export type PromptSetup = {
  readonly modelFolder: string;
  /** Whether a prompt that does not fit is cut to a window or refused. */
  readonly context: 'window' | 'error';
  /** Limit of tokens of the system text; undefined: the limits of the model; 0: no limit. */
  readonly systemBudget: number | undefined;
  /** A limit below that of the model. */
  readonly contextTokens: number | undefined;
  /** Bytes for the keys and values of all running answers. */
  readonly cacheBytes: number;
};

/** The setup of the generating thread. */
export type EngineSetup = {
  readonly modelFolder: string;
  readonly backend: BackendChoice;
  /** Threads of the native backend; undefined: all cores. */
  readonly threads: number | undefined;
  readonly contextTokens: number | undefined;
  readonly maxBatch: number;
  readonly maxWaiting: number;
  /** Tokens of a prompt to read between two steps. */
  readonly prefillTokens: number;
  readonly cacheBytes: number;
  /** Bytes for the keys and values kept for later prompts. */
  readonly prefixBytes: number;
  /** Number of prompts that a version reads before it is served. */
  readonly warmPrompts: number;
  readonly keptVersions: number;
  /** of requests that name none; undefined: the model's advice */
  readonly temperature: number | undefined;
};

/** The calls of the two threads, with their arguments and results. */
export type PromptCalls = {
  readonly prompt: { readonly ask: GenerationRequest; readonly result: Prompt };
  readonly count: { readonly ask: PromptParts; readonly result: number };
};
export type EngineCalls = {
  readonly generate: {
    readonly ask: SequenceRequest & Pick<GenerationRequest, 'choices'>;
    readonly result: readonly Choice[];
  };
  readonly serve: {
    readonly ask: { readonly adapter: string; readonly policy: PolicyVersion };
    readonly result: undefined;
  };
  readonly counters: { readonly ask: undefined; readonly result: EngineCounters };
};

/** Sent during a `generate` call, before its result. */
export type EngineEvent =
  | { readonly kind: 'started'; readonly started: Started }
  | { readonly kind: 'chunk'; readonly chunk: AnswerChunk; readonly choice: number };

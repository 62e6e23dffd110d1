import type { BackendChoice } from '../../../shared/policy/backend.ts';
import type {
  AnswerChunk,
  Choice,
  EngineCounters,
  GenerationRequest,
  PolicyVersion,
  PromptParts,
  Started,
} from './engine.ts';
import type { Prompt } from './prompt.ts';

/** What the thread that makes prompts is started with. */
export type PromptSetup = {
  readonly modelFolder: string;
  /** What becomes of a prompt that does not fit. */
  readonly context: 'window' | 'error';
  /** Tokens of the system text; undefined: the model's own limits, 0: none. */
  readonly systemBudget: number | undefined;
  /** A limit below the model's own. */
  readonly contextTokens: number | undefined;
  /** Bytes of the keys and values of all answers that are being generated. */
  readonly cacheBytes: number;
};

/** What the thread that generates is started with. */
export type EngineSetup = {
  readonly modelFolder: string;
  readonly backend: BackendChoice;
  /** Of the native backend; undefined: all cores. */
  readonly threads: number | undefined;
  readonly contextTokens: number | undefined;
  readonly maxBatch: number;
  readonly maxWaiting: number;
  /** Tokens of a prompt that are read between two steps. */
  readonly prefillTokens: number;
  readonly cacheBytes: number;
  /** Bytes of keys and values that are kept for prompts to come. */
  readonly prefixBytes: number;
  /** Prompts that a version reads before it is served. */
  readonly warmPrompts: number;
  readonly keptVersions: number;
};

/** A request whose prompt is made. */
export type SequenceRequest = Pick<
  GenerationRequest,
  'target' | 'sampling' | 'topLogProbs' | 'forcedCall' | 'format' | 'singleCall' | 'cacheSalt'
> & {
  readonly prompt: Prompt;
  readonly callsTools: boolean;
  /** Schemas of the arguments of a call that has to come, by tool; those that are too large are missing. */
  readonly heldParameters?: Readonly<Record<string, unknown>>;
  /** Of the tools: where calls have no marks of their own, only one of these is a call. */
  readonly toolNames?: readonly string[];
};

/** What the threads are asked, and what comes of it. */
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

/** What is told of a `generate` before its result. */
export type EngineEvent =
  | { readonly kind: 'started'; readonly started: Started }
  | { readonly kind: 'chunk'; readonly chunk: AnswerChunk; readonly choice: number };

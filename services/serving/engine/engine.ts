import type { ChatMessage, ToolCall } from '../../../shared/events/chat-message.ts';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import type { TokenRecord } from '../../../shared/events/token-record.ts';
import type { AnswerFormat } from '../format/answer-format.ts';

type Interaction = InteractionCompleted['data'];

/** Whose version it is, and where its numbers stand. */
export type AdapterSource = { readonly name: string; readonly folder: string; readonly digest: string };
/** Version 0 is the base policy, which has no adapter: it is the same one for all of them. */
export type PolicyVersion = { readonly version: number; readonly adapter?: AdapterSource };

/** `live`: whichever version of the adapter is served when the answer begins. */
export type PolicyTarget =
  | { readonly kind: 'live'; readonly adapter: string }
  | ({ readonly kind: 'pinned' } & PolicyVersion);

/** What a client may ask for; what it left out, the engine fills in from the model's own advice. */
export type AskedSampling = {
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly seed?: number;
  readonly maxTokens?: number;
  readonly minP?: number;
  readonly stop: readonly string[];
  readonly stopTokenIds?: readonly number[];
  readonly frequencyPenalty: number;
  readonly presencePenalty: number;
  readonly repetitionPenalty: number;
  readonly logitBias: readonly (readonly [id: number, bias: number])[];
};

export type GenerationRequest = {
  readonly target: PolicyTarget;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly unknown[];
  /** Further variables of the chat template, e.g. `enable_thinking`. */
  readonly templateVariables: Readonly<Record<string, unknown>>;
  readonly sampling: AskedSampling;
  /** Alternatives per token that the client wants to see; undefined: no log-probs at all. */
  readonly topLogProbs?: number;
  /** Answers to the same prompt, at least 1. */
  readonly choices: number;
  /** Each answer has to be a call of one of these tools; undefined: the policy decides. Never empty. */
  readonly forcedCall?: readonly string[];
  /** What each answer has to be, where it is no call; never beside `forcedCall`. */
  readonly format?: AnswerFormat;
  /** An answer ends before a second call. */
  readonly singleCall?: true;
  /**
   * Only prompts of the same salt find what was computed for the beginning of this one. Absent: those without
   * a salt.
   */
  readonly cacheSalt?: string | undefined;
};

/** What a prompt is written from. */
export type PromptParts = Pick<
  GenerationRequest,
  'messages' | 'tools' | 'templateVariables' | 'forcedCall' | 'format'
>;

/** The settings as used, in the words of the fact. */
export type UsedSampling = Interaction['sampling'];

/** Known before the first token: an answer that has started is never refused any more. */
export type Started = {
  readonly version: number;
  /** Absent: the engine tells it at the end alone. */
  readonly promptTokens?: number;
};

/**
 * A token as `logprobs` shows it. `logProb` is the recorded one: unfiltered, at the effective temperature.
 */
export type ShownToken = {
  readonly token: string;
  readonly logProb: number;
  readonly alternatives: readonly { readonly token: string; readonly logProb: number }[];
};

/** A piece of a call's arguments, as they come. The first one of a call has its name. */
export type CallPart = { readonly id: string; readonly name?: string; readonly arguments: string };

/** The next piece of an answer. */
export type AnswerChunk = {
  readonly text: string;
  readonly reasoning?: string;
  /** Whole calls, each once; whoever shows them in parts has had those of most of them before. */
  readonly toolCalls?: readonly ToolCall[];
  /** Of calls that come in parts. A call that has none comes whole alone. */
  readonly callParts?: readonly CallPart[];
  readonly tokens: readonly ShownToken[];
};

export type Generated = {
  readonly version: number;
  readonly finishReason: Extract<
    Interaction['finishReason'],
    'stop' | 'length' | 'tool_calls' | 'content_filter' | 'aborted'
  >;
  /** The engine's own word for how it ended, where that is none of those; the answer counts as whole then. */
  readonly engineFinishReason?: string;
  /** The stop string that ended it. Absent: none did, or the engine does not tell. */
  readonly stopSequence?: string;
  readonly tokens: TokenRecord | null;
  readonly untrainable?: string;
  readonly sampling: UsedSampling;
  readonly usage: Interaction['usage'];
  readonly windowCut?: Interaction['windowCut'];
  /** The messages and tools that were left, where something was cut. */
  readonly window?: { readonly messages: readonly ChatMessage[]; readonly tools: readonly unknown[] };
};

/** One of the answers to a request; `index` from 0. */
export type Choice = { readonly index: number; readonly generated: Generated };

export type GenerationListener = {
  /** Once, before the first chunk of whichever choice. */
  readonly onStart: (started: Started) => void;
  readonly onChunk: (chunk: AnswerChunk, choice: number) => void;
};

export type EngineCounters = {
  /** tensors alive on the backend; the same before and after a request */
  readonly tensors: number;
  /** requests that have a place, also those whose prompts are being read */
  readonly running: number;
  readonly waiting: number;
  /** versions in memory, by name: `base@v0`, `default@v3` */
  readonly versions: readonly string[];
  /** decode steps, and the sequences that they moved: how well requests share a step */
  readonly steps: number;
  readonly stepSequences: number;
  /** tokens of the prompts read, and those of them whose keys and values were known already */
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** answers that gave up their place for a while, since the cache had no room for all */
  readonly preemptions: number;
  /** positions that the caches of all versions have room for now */
  readonly cachePositions: number;
  /** blocks of known keys and values that are kept for prompts to come */
  readonly prefixBlocks: number;
};

/**
 * Who generates. `local`: this machine, in a worker thread; `upstream`: a server that speaks OpenAI's API.
 */
export type Engine = {
  readonly name: 'local' | 'upstream';
  /** For a person: what computes, one line. */
  readonly report: string;
  /** Whether it can move to another version; else it is version 0 for good. */
  readonly hasVersions: boolean;
  /**
   * Answers one request, with one choice or several of one version, which is chosen when the first of them
   * begins. An abort ends them early with what there is, as `aborted`; those that had not begun are missing
   * then, and where none had it rejects with the signal's reason. Where one choice fails, all do. @throws
   * ServingError CONTEXT_LENGTH_EXCEEDED, TEMPLATE_REFUSED, VERSION_UNAVAILABLE, UPSTREAM_*, ENGINE_FAILED
   */
  readonly generate: (
    request: GenerationRequest,
    listener: GenerationListener,
    signal: AbortSignal,
  ) => Promise<readonly Choice[]>;
  /**
   * Moves an adapter to one of its versions; resolves when its new answers begin on it. Running ones finish on
   * theirs. An abort leaves the version before in service; it may come too late.
   * @throws ServingError STOPPING when it came in time
   */
  readonly serve: (adapter: string, policy: PolicyVersion, signal: AbortSignal) => Promise<void>;
  /**
   * Tokens of a request's prompt, also of one that does not fit; far beyond the context, an estimate. Absent:
   * the engine alone knows its tokens. @throws ServingError TEMPLATE_REFUSED
   */
  readonly countTokens?: (prompt: PromptParts) => Promise<number>;
  readonly counters: () => Promise<EngineCounters>;
  /** Why it cannot be asked just now; absent: it always can. */
  readonly problem?: () => string | undefined;
  /** Rejects when the engine cannot go on; the process should then end and be started again. */
  readonly failed: Promise<never>;
  readonly close: () => Promise<void>;
};

import type { ChatMessage, ToolCall } from '../../shared/events/chat-message.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import type { TokenRecord } from '../../shared/events/token-record.ts';
import type { Schema } from '../../shared/json-grammar/schema-keywords.ts';

type Interaction = InteractionCompleted['data'];

/** The adapter of a version, and the checkpoint folder with its weights. */
export type AdapterSource = { readonly name: string; readonly folder: string; readonly digest: string };
/** Version 0 is the base policy, shared by all adapters; it has no `adapter`. */
export type PolicyVersion = { readonly version: number; readonly adapter?: AdapterSource };

/**
 * `live`: the version of the adapter that is served when the answer begins. `canary`: the name of a candidate that
 * answers instead, unless its canary has ended by then.
 */
export type PolicyTarget =
  | { readonly kind: 'live'; readonly adapter: string; readonly canary?: string }
  | ({ readonly kind: 'pinned' } & PolicyVersion);

/** The required form of an answer. `param`: the request field that requires it, named in refusals. */
export type AnswerFormat = { readonly param: string } & (
  | { readonly kind: 'json' }
  | { readonly kind: 'schema'; readonly schema: Schema | boolean; readonly name?: string }
  | { readonly kind: 'regex'; readonly regex: string }
  | { readonly kind: 'choice'; readonly of: readonly string[] }
  | { readonly kind: 'grammar'; readonly grammar: string }
);

/** The settings that the client sent. The engine fills in missing ones from the model's recommendations. */
export type RequestedSampling = {
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
  readonly sampling: RequestedSampling;
  /** Alternatives per token to return; undefined: no log-probs. */
  readonly topLogProbs?: number;
  /** Answers to the same prompt, at least 1. */
  readonly choices: number;
  /** Each answer must be a call of one of these tools. Undefined: the policy decides. Never empty. */
  readonly forcedCall?: readonly string[];
  /** The format of each answer that is not a call. Never set together with `forcedCall`. */
  readonly format?: AnswerFormat;
  /** An answer ends before a second tool call. */
  readonly singleCall?: true;
  /** Cached keys and values are shared only among prompts with the same salt, or all without one. */
  readonly cacheSalt?: string | undefined;
  /** Names the span of this request, for an engine that exports spans too; absent: traces are not exported. */
  readonly traceparent?: string;
};

/** The parts of a request that make up its prompt. */
export type PromptParts = Pick<
  GenerationRequest,
  'messages' | 'tools' | 'templateVariables' | 'forcedCall' | 'format'
>;

/** The settings as used, in the form that the event records. */
type UsedSampling = Interaction['sampling'];

/** Known before the first token. An answer that has started is never refused. */
export type Started = {
  readonly version: number;
  /** Absent if the engine reports it only at the end. */
  readonly promptTokens?: number;
};

/** A token as `logprobs` shows it. `logProb` is the recorded value: unfiltered, at the effective temperature. */
export type ShownToken = {
  readonly token: string;
  readonly logProb: number;
  readonly alternatives: readonly { readonly token: string; readonly logProb: number }[];
};

/** A piece of a call's arguments. The first piece of a call has the name. */
export type CallPart = { readonly id: string; readonly name?: string; readonly arguments: string };

/** The next piece of an answer. */
export type AnswerChunk = {
  readonly text: string;
  readonly reasoning?: string;
  /** Whole calls, each once, after its `callParts` if it has any. */
  readonly toolCalls?: readonly ToolCall[];
  /** Pieces of calls that arrive in parts. */
  readonly callParts?: readonly CallPart[];
  readonly tokens: readonly ShownToken[];
};

export type Generated = {
  readonly version: number;
  readonly finishReason: Extract<
    Interaction['finishReason'],
    'stop' | 'length' | 'tool_calls' | 'content_filter' | 'aborted'
  >;
  /** The engine's own finish reason, if it is none of these; the answer then counts as complete. */
  readonly engineFinishReason?: string;
  /** The stop string that ended the answer. Absent if none did, or the engine does not report it. */
  readonly stopSequence?: string;
  readonly tokens: TokenRecord | null;
  readonly untrainable?: string;
  readonly sampling: UsedSampling;
  readonly usage: Interaction['usage'];
  readonly windowCut?: Interaction['windowCut'];
  /** The remaining messages and tools, if the prompt was cut. */
  readonly window?: { readonly messages: readonly ChatMessage[]; readonly tools: readonly unknown[] };
};

/** One of the answers to a request; `index` from 0. */
export type Choice = { readonly index: number; readonly generated: Generated };

export type GenerationListener = {
  /** Once, before the first chunk of any choice. */
  readonly onStart: (started: Started) => void;
  readonly onChunk: (chunk: AnswerChunk, choice: number) => void;
};

export type EngineCounters = {
  /** tensors alive on the backend; the same before and after a request */
  readonly tensors: number;
  /** requests with a slot, including those whose prompts are being read */
  readonly running: number;
  readonly waiting: number;
  /** versions in memory, by name: `base@v0`, `default@v3` */
  readonly versions: readonly string[];
  /** decode steps, and the sequences in them: how well requests share a step */
  readonly steps: number;
  readonly stepSequences: number;
  /** tokens of the prompts read, and those whose keys and values were cached */
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** answers that lost their slot for a while, since the cache had no room for all */
  readonly preemptions: number;
  /** current positions in the caches of all versions */
  readonly cachePositions: number;
  /** blocks of keys and values that are kept for later prompts */
  readonly prefixBlocks: number;
};

/** Generates answers. `local`: in a worker thread of this process; `upstream`: on a server with OpenAI's API. */
export type Engine = {
  readonly name: 'local' | 'upstream';
  /** One line for the operator: the engine and its backend. */
  readonly report: string;
  /** Whether it can serve versions other than 0. */
  readonly hasVersions: boolean;
  /**
   * Answers one request with one or several choices. All are of one version, chosen when the first begins. An
   * abort ends running choices as `aborted`, with their text so far, and drops choices that have not begun; if
   * none has begun, it rejects with the signal's reason. If one choice fails, all fail.
   * @throws ServingError CONTEXT_LENGTH_EXCEEDED, TEMPLATE_REFUSED, VERSION_UNAVAILABLE, UPSTREAM_*, ENGINE_FAILED
   */
  readonly generate: (
    request: GenerationRequest,
    listener: GenerationListener,
    signal: AbortSignal,
  ) => Promise<readonly Choice[]>;
  /**
   * Moves an adapter to one of its versions; resolves when new answers begin on it. Running answers finish on
   * their version. An abort keeps the previous version in service, unless it comes too late.
   * @throws ServingError STOPPING if the abort came in time
   */
  readonly serve: (adapter: string, policy: PolicyVersion, signal: AbortSignal) => Promise<void>;
  /**
   * Counts the tokens of a prompt, even one that does not fit; far beyond the context, the count is an estimate.
   * Absent if only the engine can count them. @throws ServingError TEMPLATE_REFUSED
   */
  readonly countTokens?: (prompt: PromptParts) => Promise<number>;
  readonly counters: () => Promise<EngineCounters>;
  /** Why the engine is currently unavailable; undefined if it is available. Absent: it always is. */
  readonly problem?: () => string | undefined;
  /**
   * Runs work while no adapter is loaded or unloaded, with the names of the adapters that the server holds. Absent: the
   * engine needs no copies of adapters. Rejects while the server does not answer.
   */
  readonly withAdapterNames?: (work: (names: ReadonlySet<string>) => Promise<void>) => Promise<void>;
  /** Rejects when the engine cannot continue; the process should then exit and be restarted. */
  readonly failed: Promise<never>;
  readonly close: () => Promise<void>;
};

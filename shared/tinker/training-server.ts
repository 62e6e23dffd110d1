/** Servers that speak the Tinker API differ; see `dialects.ts`. */
export type DialectName = 'tinker' | 'fireworks' | 'skyrl-jax' | 'skyrl-train' | 'open-rl';

/** A prompt with its answer. All log-probs are at temperature 1: no server takes another. */
export type ServerSequence = {
  readonly promptIds: readonly number[];
  readonly responseIds: readonly number[];
};

/** What a server can do. A step asks before it starts, and refuses what is missing by name. */
export type ServerCapabilities = {
  /** several weighted targets per position, which `topk` and `overlap` distillation need */
  readonly severalTargets: boolean;
  /** the most likely tokens of each position, which the same need */
  readonly topTokens: boolean;
  /** clips the gradient to a norm that the request gives */
  readonly gradientClip: boolean;
  /** takes both betas, epsilon and weight decay from each request; otherwise only the learning rate */
  readonly adamPerRequest: boolean;
  /** largest beta of AdamW: a larger one is refused at start, and lowered in an open batch; undefined: any below 1 */
  readonly largestBeta: number | undefined;
  /** an optimizer step with weight decay, or without an epsilon, changes all models on the server */
  readonly stepsAllModels: boolean;
  /** alpha that the server fixes; undefined: `createModel` chooses it */
  readonly fixedAlpha: number | undefined;
  /** the rank of an adapter must be a power of two */
  readonly powerOfTwoRank: boolean;
  /** a request that is sent again with its number is not applied again */
  readonly deduplicates: boolean;
  /** saved states can be removed by a request */
  readonly deletesStates: boolean;
  /** the trained adapter can be downloaded over HTTP */
  readonly adapterDownload: boolean;
};

/** Further tokens of each position, besides the sampled one. */
export type ServerCandidates = {
  /** per position */
  readonly count: number;
  /** of each sequence, [T * count]; undefined: the sequence has none */
  readonly ids: readonly (Int32Array | undefined)[];
};

type CandidateScores = {
  /** log p of each response token, nats, [N][T] */
  readonly sampled: readonly Float32Array[];
  /** log p of the candidates, nats, [N][T * count]; undefined: the sequence has none */
  readonly candidates: readonly (Float32Array | undefined)[];
};

/** dLoss / dlogProb. */
export type ServerSlopes = {
  /** of each response token, [N][T] */
  readonly sampled: readonly ArrayLike<number>[];
  readonly candidates?: ServerCandidates & {
    /** [N][T * count]; undefined: the sequence has none */
    readonly slopes: readonly (ArrayLike<number> | undefined)[];
  };
};

export type GradientContext = {
  /** what `forward` has just returned for the same sequences; some surrogates need it */
  readonly current: readonly ArrayLike<number>[];
  /** sequences of all calls of `addGradient` until the next optimizer step; servers that average need it */
  readonly sequencesUntilStep: number;
};

/** AdamW, for one optimizer step. */
export type ServerAdam = {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly weightDecay: number;
  /** L2 norm to which the gradient is scaled down; undefined: no clipping */
  readonly gradientClip: number | undefined;
};

/** The most likely tokens of each response position, the most likely first. */
export type TopTokens = {
  /** [T * count] */
  readonly ids: Int32Array;
  /** nats, [T * count] */
  readonly logProbs: Float32Array;
};

/**
 * A model on the server, with an adapter and an optimizer of its own. Its calls are numbered and answered in order.
 * Every call rejects with an error of `tinkerErrors`, or with the reason of the session's signal. After a rejection
 * the state of the model is unknown: unload it and begin again with a fresh model.
 */
export type RemoteModel = {
  readonly id: string;
  /** @returns log p of each response token, nats, [N][T] */
  readonly forward: (sequences: readonly ServerSequence[]) => Promise<readonly Float32Array[]>;
  /** Like `forward`, with the candidates' log-probs. @throws NOT_ON_THIS_SERVER without `severalTargets` */
  readonly forwardCandidates: (
    sequences: readonly ServerSequence[],
    candidates: ServerCandidates,
  ) => Promise<CandidateScores>;
  /** @throws NOT_ON_THIS_SERVER without `topTokens` */
  readonly topTokens: (sequences: readonly ServerSequence[], count: number) => Promise<readonly TopTokens[]>;
  /** Adds the gradient that the slopes give at the current weights. */
  readonly addGradient: (
    sequences: readonly ServerSequence[],
    slopes: ServerSlopes,
    context: GradientContext,
  ) => Promise<void>;
  /**
   * @returns the L2 norm of the gradient before clipping; undefined: the server does not report it
   * @throws NOT_FINITE if the server reports a norm that is not finite: it may have applied the gradient
   */
  readonly optimizerStep: (adam: ServerAdam) => Promise<{ readonly gradientNorm: number | undefined }>;
  /**
   * Saves weights and optimizer. A state of that name that this model has saved before is taken as the result.
   *
   * @param name of letters, digits, `_` and `-`
   */
  readonly saveState: (name: string) => Promise<{ readonly path: string }>;
  /** Loads weights and optimizer. Only as the first call. */
  readonly loadState: (path: string) => Promise<void>;
  /** Saves the adapter under this name and downloads it: file names and contents in PEFT format. */
  readonly downloadAdapter: (name: string) => Promise<ReadonlyMap<string, Uint8Array>>;
  /** Frees the model on the server. Never rejects. */
  readonly unload: () => Promise<void>;
};

export type RemoteModelSettings = {
  readonly rank: number;
  readonly seed: number;
  /** default: that of the server; must equal `fixedAlpha` where there is one */
  readonly alpha?: number;
};

/** Models of one attempt. The server unloads them some minutes after the last heartbeat. */
export type RemoteSession = {
  readonly id: string;
  readonly createModel: (settings: RemoteModelSettings) => Promise<RemoteModel>;
  /** Unloads the models and stops the heartbeats. Never rejects. */
  readonly close: () => Promise<void>;
};

/** Tokens by kind, and requests, since the client was opened. */
export type ServerUsage = {
  readonly requests: number;
  readonly forwardTokens: number;
  readonly trainedTokens: number;
  readonly sampledTokens: number;
};

/** What a server says of itself. */
export type ServerReport = {
  /** models that it trains; undefined: it does not say */
  readonly models: readonly string[] | undefined;
  /** most tokens of a sequence; undefined: it does not say */
  readonly contextTokens: number | undefined;
};

export type TrainingServer = {
  readonly dialect: DialectName;
  readonly capabilities: ServerCapabilities;
  /** name of the model there */
  readonly model: string;
  /**
   * Asks whether the server is there, takes the key and trains the model.
   *
   * @throws UNREACHABLE, WRONG_KEY, PAYMENT_REQUIRED, UNKNOWN_MODEL, BAD_ANSWER
   */
  readonly check: (signal: AbortSignal) => Promise<ServerReport>;
  /**
   * Opens a session with a heartbeat until `close`. All its calls end when the signal aborts, with its reason;
   * `unload` and `close` still work then.
   *
   * @param about stored with the session, for the operator of the server
   */
  readonly openSession: (
    about: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ) => Promise<RemoteSession>;
  /** Removes a saved state; does nothing where the server cannot, or where it is gone. */
  readonly removeState: (path: string, signal: AbortSignal) => Promise<void>;
  readonly usage: () => ServerUsage;
  readonly close: () => Promise<void>;
};

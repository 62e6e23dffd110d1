import type { BackendChoice } from '../../../shared/policy/backend.ts';
import type {
  AnswerChunk,
  EngineCounters,
  Generated,
  GenerationRequest,
  PolicyVersion,
  Started,
} from './engine.ts';

/** What the engine's thread is started with. */
export type EngineSetup = {
  readonly modelFolder: string;
  readonly backend: BackendChoice;
  /** What becomes of a prompt that does not fit. */
  readonly context: 'window' | 'error';
  /** A limit below the model's own. */
  readonly contextTokens: number | undefined;
  readonly maxBatch: number;
  readonly keptVersions: number;
};

/** From the server to the engine's thread. */
export type ToEngine =
  | { readonly kind: 'generate'; readonly id: number; readonly request: GenerationRequest }
  | { readonly kind: 'abort'; readonly id: number }
  | { readonly kind: 'serve'; readonly id: number; readonly policy: PolicyVersion }
  | { readonly kind: 'counters'; readonly id: number }
  | { readonly kind: 'close' };

/** An error's way between threads: the row of the table, and what was said. */
export type Failure = { readonly row: string; readonly message: string; readonly param: string | null };

/** From the engine's thread. `id` is that of the call. */
export type FromEngine =
  | { readonly kind: 'ready'; readonly report: string; readonly contextTokens: number }
  | { readonly kind: 'started'; readonly id: number; readonly started: Started }
  | { readonly kind: 'chunk'; readonly id: number; readonly chunk: AnswerChunk }
  | { readonly kind: 'generated'; readonly id: number; readonly generated: Generated }
  | { readonly kind: 'served'; readonly id: number }
  | { readonly kind: 'counters'; readonly id: number; readonly counters: EngineCounters }
  | { readonly kind: 'failed'; readonly id: number; readonly failure: Failure };

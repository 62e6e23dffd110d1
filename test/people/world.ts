import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { Question } from '../bench/learning/model.ts';
import type { Client } from './session.ts';

/** A ClawLoop for one run, through HTTP or within the process. */
export type World = {
  readonly client: Client;
  /** Resolves when all words are judged, no step runs and the newest version is served. */
  readonly settle: () => Promise<void>;
  readonly served: () => number;
  /** The served version's answers; nothing is collected. */
  readonly answers: (questions: readonly Question[]) => Promise<readonly string[]>;
  /** nats per token of the served version; null: not measured, or nothing is learned yet */
  readonly klToBase: () => Promise<number | null>;
  readonly close: () => Promise<void>;
};

export type OpenWorld = (
  run: { readonly seed: string; readonly learning: boolean },
  onEvent: (event: ClawLoopEvent) => void,
) => Promise<World>;

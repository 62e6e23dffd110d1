import type { ClawLoopEvent } from '../events/catalogue.ts';
import { TurnTracker } from './turn-tracker.ts';
import type { TurnStage, TurnView, Underneath } from './turn-view.ts';

type Options = {
  /** False: the views leave out what people and the model said. */
  readonly keepsTexts?: boolean;
};

/** All turns in memory. */
export class TurnViews {
  readonly #views = new Map<string, TurnView>();
  readonly turns: ReadonlyMap<string, TurnView> = this.#views;
  readonly #tracker: TurnTracker;

  constructor({ keepsTexts = true }: Options = {}) {
    const parts = {
      views: this.#views,
      underneath: new Map<string, Underneath>(),
      samples: new Map<string, string>(),
      trained: new Map<string, TurnStage>(),
      seen: new Map<string, readonly string[]>(),
    };
    this.#tracker = new TurnTracker(parts, {
      keepsTexts,
      changed: () => {},
      from: { batches: [], heads: {} },
    });
  }

  readonly on = (event: ClawLoopEvent): void => this.#tracker.on(event);
}

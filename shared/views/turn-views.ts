import type { ClawLoopEvent } from '../events/catalogue.ts';
import { TurnTracker } from './turn-tracker.ts';
import type { KeptTurn, TurnStage, TurnView, TurnViewsState, Underneath } from './turn-view.ts';

type Options = {
  /** False: the views leave out what people and the model said, for a reader that keeps many turns. */
  readonly keepsTexts?: boolean;
  /** Called with the id of each turn that an event changed. */
  readonly changed?: (turnId: string) => void;
  /** The state of earlier views to go on from. */
  readonly from?: TurnViewsState;
};

/** All turns in memory. */
export class TurnViews {
  readonly #views = new Map<string, TurnView>();
  readonly turns: ReadonlyMap<string, TurnView> = this.#views;
  readonly #underneath = new Map<string, Underneath>();
  readonly #samples = new Map<string, string>();
  readonly #trained = new Map<string, TurnStage>();
  readonly #seen = new Map<string, readonly string[]>();
  readonly #tracker: TurnTracker;

  constructor({ keepsTexts = true, changed = () => {}, from }: Options = {}) {
    for (const turn of from?.turns ?? []) this.#restore(turn);
    this.#tracker = new TurnTracker(
      {
        views: this.#views,
        underneath: this.#underneath,
        samples: this.#samples,
        trained: this.#trained,
        seen: this.#seen,
      },
      { keepsTexts, changed, from: { batches: from?.batches ?? [], heads: from?.heads ?? {} } },
    );
  }

  #restore({ view, underneath, sample, trained, seen }: KeptTurn): void {
    const { turnId: id } = view;
    this.#views.set(id, view);
    if (underneath !== undefined) this.#underneath.set(id, underneath);
    if (sample !== undefined) this.#samples.set(id, sample);
    if (trained !== undefined) this.#trained.set(id, trained);
    if (seen !== undefined) this.#seen.set(id, seen);
  }

  /** A turn as `from` takes it. */
  readonly kept = (id: string): KeptTurn => ({
    view: this.#views.get(id)!,
    underneath: this.#underneath.get(id),
    sample: this.#samples.get(id),
    trained: this.#trained.get(id),
    seen: this.#seen.get(id),
  });

  readonly forget = (id: string): void => {
    for (const part of [this.#views, this.#underneath, this.#samples, this.#trained, this.#seen])
      part.delete(id);
  };

  readonly openBatches = (): TurnViewsState['batches'] => this.#tracker.openBatches();
  readonly heads = (): TurnViewsState['heads'] => this.#tracker.heads();
  readonly on = (event: ClawLoopEvent): void => this.#tracker.on(event);
}

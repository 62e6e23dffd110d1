import type { BatchReturned } from '../events/batch-returned.ts';
import type { BatchSubmitted } from '../events/batch-submitted.ts';
import type { ClawLoopEvent } from '../events/catalogue.ts';
import type { ChatMessage } from '../events/chat-message.ts';
import type { InteractionCompleted } from '../events/interaction-completed.ts';
import { topicOf } from '../events/parse-event.ts';
import type { PolicyPromoted } from '../events/policy-promoted.ts';
import type { PolicyTrained } from '../events/policy-trained.ts';
import type { SampleDropped } from '../events/sample-dropped.ts';
import { turnOfSample } from '../events/sample-id.ts';
import type { TurnSkipped } from '../events/turn-skipped.ts';
import type { VoteCast } from '../events/vote-cast.ts';
import { defined } from '../lang/defined.ts';
import type { Keyed } from '../lang/keyed.ts';
import { openHead } from '../lineage/head.ts';
import { viewOf } from './first-view.ts';
import { withoutId } from './name-of-turn.ts';
import { openReturnedTurns } from './returned-turns.ts';
import { spokenIn } from './turn-texts.ts';
import type { TrackerState, TurnStage, TurnView, Underneath } from './turn-view.ts';

/**
 * By the id of the turn. `samples`: its latest sample, which decides the stage; a revised verdict makes another one.
 * `trained`: the stage that it trained in, so that the end of a later sample does not hide it. `seen`: names of its
 * votes, without its id.
 */
export type TurnParts = {
  readonly views: Keyed<TurnView>;
  readonly underneath: Keyed<Underneath>;
  readonly samples: Keyed<string>;
  readonly trained: Keyed<TurnStage>;
  readonly seen: Keyed<readonly string[]>;
};

type Options = {
  /** False: the views leave out what people and the model said, for a reader that keeps many turns. */
  readonly keepsTexts: boolean;
  /** Called with the id of each turn that an event changed. */
  readonly changed: (turnId: string) => void;
  /** What is known besides the turns, to go on from. */
  readonly from: TrackerState;
};

/**
 * Follows turns from message to gradient. Feed it the topics in the order of the loop, or parts of them in this order:
 * what `training` says about a turn covers what `turns` says, whichever arrives first, so that views which go on
 * from a stored state equal those which read the log at once.
 */
export class TurnTracker {
  readonly #keepsTexts: boolean;
  readonly #changed: (turnId: string) => void;
  readonly #parts: TurnParts;
  readonly #batches = new Map<string, readonly string[]>();
  readonly #heads = new Map<string, ReturnType<typeof openHead>>();
  readonly #returned: ReturnType<typeof openReturnedTurns>;

  constructor(parts: TurnParts, { keepsTexts, changed, from }: Options) {
    this.#parts = parts;
    this.#keepsTexts = keepsTexts;
    this.#changed = changed;
    this.#returned = openReturnedTurns(from.returned);
    for (const [id, samples] of from.batches) this.#batches.set(id, samples);
    for (const [name, head] of Object.entries(from.heads)) this.#heads.set(name, openHead(head));
  }

  readonly openBatches = (): TrackerState['batches'] => [...this.#batches];
  readonly returned = (): TrackerState['returned'] => this.#returned.state();
  readonly heads = (): TrackerState['heads'] =>
    Object.fromEntries([...this.#heads].map(([name, head]) => [name, head.state()]));

  #headOf(adapter: string) {
    const head = this.#heads.get(adapter) ?? openHead();
    this.#heads.set(adapter, head);
    return head;
  }

  #update(id: string, changes: Partial<TurnView>): void {
    const turn = this.#parts.views.get(id);
    if (turn === undefined) return;
    this.#parts.views.set(id, { ...turn, ...changes });
    this.#changed(id);
  }

  /** A change by `turns`: it stays underneath what `training` said. */
  #updateByTurns(id: string, { stage, rule, ...others }: Partial<TurnView>): void {
    const { stage: coveredStage, rule: coveredRule } = this.#parts.underneath.get(id) ?? {};
    const covered = defined({
      stage: coveredStage && (stage ?? coveredStage),
      rule: coveredRule === undefined ? undefined : (rule ?? coveredRule),
    });
    if (this.#parts.underneath.has(id)) this.#parts.underneath.set(id, covered);
    const shown = defined({
      stage: coveredStage === undefined ? stage : undefined,
      rule: coveredRule === undefined ? rule : undefined,
    });
    this.#update(id, { ...others, ...shown });
  }

  #updateByTraining(id: string, changes: Partial<Pick<TurnView, 'stage' | 'rule' | 'standing'>>): void {
    const turn = this.#parts.views.get(id);
    if (turn === undefined) return;
    const { stage, rule } = this.#before(turn);
    const known = this.#parts.underneath.get(id);
    this.#parts.underneath.set(id, {
      ...known,
      ...(changes.stage === undefined ? {} : { stage }),
      ...(changes.rule === undefined ? {} : { rule }),
    });
    this.#update(id, changes);
  }

  /** Stage and rule by `turns` alone. */
  #before(turn: TurnView): Pick<TurnView, 'stage' | 'rule'> {
    const { stage = turn.stage, rule = turn.rule } = this.#parts.underneath.get(turn.turnId) ?? {};
    return { stage, rule };
  }

  #onInteraction(event: InteractionCompleted): void {
    const { interactionId: id } = event.data;
    if (this.#parts.views.has(id)) return;
    this.#parts.views.set(id, viewOf(event, this.#keepsTexts));
    this.#changed(id);
  }

  #endBatch(batchId: string, stage: TurnStage): void {
    for (const id of this.#batches.get(batchId) ?? []) {
      const turn = turnOfSample(id);
      if (stage.kind === 'trained' && this.#parts.views.has(turn)) this.#parts.trained.set(turn, stage);
      this.#updateByTraining(turn, { stage: this.#returned.has(turn) ? waits : stage });
    }
    this.#batches.delete(batchId);
  }

  /** Samples that were left out do not share the outcome of their batch. */
  #onTrained({ batchId, leftOut = [] }: PolicyTrained['data']): void {
    if (leftOut.length === 0) return;
    const left = new Set(leftOut.map(({ sampleId }) => sampleId));
    const others = (this.#batches.get(batchId) ?? []).filter((id) => !left.has(id));
    if (this.#batches.has(batchId)) this.#batches.set(batchId, others);
    for (const { sampleId, reason } of leftOut) {
      const turn = turnOfSample(sampleId);
      const stage: TurnStage = this.#returned.has(turn) ? waits : { kind: 'not-trained', reason };
      this.#updateByTraining(turn, { stage });
    }
  }

  #onSkipped({ data }: TurnSkipped): void {
    const turn = this.#parts.views.get(data.turnId);
    if (turn === undefined) return;
    const before = this.#before(turn);
    if (['too-late', 'record-gone'].includes(data.reason) && isSettled(before)) return;
    this.#updateByTurns(data.turnId, {
      session: data.session ?? turn.session,
      rule: data.rule ?? before.rule,
      disagreement: data.disagreement,
      stage: { kind: 'not-trained', reason: data.reason },
    });
  }

  #onVote({ id, data }: VoteCast): void {
    const { turnId } = data;
    const votes = this.#parts.views.get(turnId)?.votes;
    const seen = this.#parts.seen.get(turnId) ?? [];
    const name = withoutId(id, turnId);
    if (votes === undefined || seen.includes(name)) return; // a duplicate is not a second vote
    this.#parts.seen.set(turnId, [...seen, name]);
    const plain = data.reaction === undefined ? {} : { isPlain: true };
    this.#update(turnId, { votes: [...votes, String(data.vote ?? 'null')], ...plain });
  }

  #onBatch({ data: { batchId, samples, again } }: BatchSubmitted): void {
    if (again !== undefined) this.#returned.form(again, samples);
    this.#batches.set(
      batchId,
      samples.map(({ sampleId }) => sampleId),
    );
    for (const { sampleId, standing } of samples)
      this.#updateByTraining(turnOfSample(sampleId), {
        ...defined({ standing }),
        stage: { kind: 'in-batch', batchId },
      });
  }

  /** Its own batch stays among the batches of the turn; it trains again in another. A copy changes nothing. */
  #onReturned(event: BatchReturned): void {
    const { id, subject } = event;
    if (this.#headOf(subject).state().commands[id]) return;
    this.#returned.add(event);
    for (const { sampleId } of event.data.samples) {
      const turn = turnOfSample(sampleId);
      if (this.#parts.views.get(turn)?.stage.kind !== 'in-batch')
        this.#updateByTraining(turn, { stage: waits });
    }
  }

  #onReady(sampleId: string): void {
    const turn = turnOfSample(sampleId);
    if (!this.#parts.views.has(turn)) return;
    this.#parts.samples.set(turn, sampleId);
    if (this.#parts.views.get(turn)?.stage.kind !== 'in-batch')
      this.#updateByTraining(turn, { stage: waits });
  }

  /** Another sample of the turn may decide its stage: a later one, one in a batch, or one that trained. */
  #onDropped({ sampleId, reason, rule, returned }: SampleDropped['data']): void {
    const turn = turnOfSample(sampleId);
    if (returned !== undefined) this.#returned.drop(returned, sampleId);
    const isOther = reason === 'corrected' || (this.#parts.samples.get(turn) ?? sampleId) !== sampleId;
    const isInBatch = this.#parts.views.get(turn)?.stage.kind === 'in-batch';
    if ((returned === undefined && isOther) || isInBatch || this.#returned.has(turn)) return;
    const stage = this.#parts.trained.get(turn) ?? { kind: 'not-trained', reason };
    this.#updateByTraining(turn, { ...(returned === undefined ? defined({ rule }) : {}), stage });
  }

  #spoken(next: readonly ChatMessage[]): string {
    return this.#keepsTexts ? spokenIn(next) : '';
  }

  readonly on = (event: ClawLoopEvent): void => {
    switch (event.type) {
      case 'interaction.completed':
        this.#onInteraction(event);
        break;
      case 'turn.completed': {
        const { turnId, session, settle, rule, disagreement } = event.data;
        const kind = settle === 'reward' ? 'waiting-for-end-of-session' : 'waiting-for-verdict';
        this.#updateByTurns(turnId, {
          session,
          rule,
          disagreement,
          stage: { kind },
          reaction: this.#spoken(event.data.next),
        });
        break;
      }
      case 'turn.continued':
        this.#updateByTurns(event.data.turnId, { reaction: this.#spoken(event.data.next) });
        break;
      case 'turn.skipped':
        this.#onSkipped(event);
        break;
      case 'vote.cast':
        this.#onVote(event);
        break;
      case 'turn.feedback':
        if (event.data.return !== undefined)
          this.#updateByTurns(event.data.turnId, { own: event.data.return.own });
        break;
      case 'judgment.reached': {
        const { turnId, score, source, advantage, implied, inferred, process } = event.data;
        const hint = this.#keepsTexts ? inferred : undefined;
        const details = defined({ advantage, implied, inferred: hint, process });
        this.#updateByTurns(turnId, { score, source, ...details, stage: { kind: 'waiting-for-session' } });
        break;
      }
      case 'judgment.revised': {
        const { turnId, score, source } = event.data;
        if (score !== null) this.#updateByTurns(turnId, { score, source, inferred: undefined });
        break;
      }
      case 'sample.ready':
        this.#onReady(event.data.sampleId);
        break;
      case 'sample.dropped':
        this.#onDropped(event.data);
        break;
      case 'batch.submitted':
        this.#onBatch(event);
        break;
      case 'batch.returned':
        this.#onReturned(event);
        break;
      case 'policy.trained':
        this.#onTrained(event.data);
        break;
      case 'policy.promoted':
        this.#endBatch(
          event.data.batchId,
          promotedStage(event.data, this.#headOf(event.subject).state().head),
        );
        break;
      case 'policy.rejected':
      case 'policy.update-failed':
        this.#endBatch(event.data.batchId, { kind: 'not-trained', reason: event.data.reason });
        break;
    }
    if (topicOf(event) === 'training') this.#headOf(event.subject).on(event);
  };
}

const waits: TurnStage = { kind: 'waiting-for-batch' };

/** Whether the outcome of a turn is known, so that a late copy changes nothing. */
const isSettled = ({ stage, rule }: Pick<TurnView, 'stage' | 'rule'>): boolean =>
  !['waiting-for-next-state', 'waiting-for-end-of-session'].includes(stage.kind) || rule !== '';

/** A promotion counts only if its parent is still the head. */
const promotedStage = ({ batchId, from, to }: PolicyPromoted['data'], head: number): TurnStage =>
  from === head
    ? { kind: 'trained', batchId, version: to }
    : { kind: 'not-trained', reason: 'parent-rolled-back' };

import { spokenMessages } from '../chat/client-blocks.ts';
import { isHuman } from '../chat/message.ts';
import { userWords } from '../chat/normalise.ts';
import type { BatchSubmitted } from '../events/batch-submitted.ts';
import type { ClawLoopEvent } from '../events/catalogue.ts';
import type { Disagreement } from '../events/disagreement.ts';
import type { InteractionCompleted } from '../events/interaction-completed.ts';
import type { JudgmentReached } from '../events/judgment-reached.ts';
import { topicOf } from '../events/parse-event.ts';
import type { PolicyPromoted } from '../events/policy-promoted.ts';
import type { PolicyTrained } from '../events/policy-trained.ts';
import type { SampleDropped } from '../events/sample-dropped.ts';
import { turnOfSample } from '../events/sample-id.ts';
import type { TurnSkipped } from '../events/turn-skipped.ts';
import type { VoteCast } from '../events/vote-cast.ts';
import { defined } from '../lang/defined.ts';
import { headTypes, openHead } from '../lineage/head.ts';
import { spokenIn, textOf } from './turn-texts.ts';

/** Stage of an interaction on its way to training. */
export type TurnStage =
  | { readonly kind: 'waiting-for-next-state' }
  /** settled by reward */
  | { readonly kind: 'waiting-for-end-of-session' }
  | { readonly kind: 'waiting-for-verdict' }
  | { readonly kind: 'waiting-for-session' }
  | { readonly kind: 'waiting-for-batch' }
  | { readonly kind: 'in-batch'; readonly batchId: string }
  | { readonly kind: 'trained'; readonly batchId: string; readonly version: number }
  | { readonly kind: 'not-trained'; readonly reason: string };

export type TurnView = {
  readonly turnId: string;
  readonly time: string;
  readonly lane: string;
  readonly session: string;
  readonly adapter: string;
  readonly version: number;
  readonly live: boolean;
  readonly asked: string;
  readonly answered: string;
  readonly rule: string;
  readonly disagreement: Disagreement | undefined;
  readonly score: number | null | undefined;
  readonly source: string;
  /** the person's action behind an implicit verdict */
  readonly implied?: string;
  /** a hint inferred from what the person's complaints have in common */
  readonly inferred?: string | undefined;
  /** the person's earlier wishes that its batch adds to the sample */
  readonly standing?: readonly string[] | undefined;
  /** what the person said after the answer; '' if unknown or nothing */
  readonly reaction: string;
  /** the reaction carries no verdict: the person went on or asked again */
  readonly isPlain: boolean;
  /** in a rewarded session: the reward of this turn, null if none; the score is the return */
  readonly own?: number | null;
  /** relative to other attempts at the task; replaces score minus baseline */
  readonly advantage?: number;
  /** votes on it as a step of a rewarded session */
  readonly process?: JudgmentReached['data']['process'];
  readonly votes: readonly string[];
  readonly stage: TurnStage;
};

/** Types of the events that the views read. */
export const turnTypes: ReadonlySet<string> = new Set<string>([
  ...headTypes,
  ...([
    'interaction.completed',
    'turn.completed',
    'turn.continued',
    'turn.skipped',
    'turn.feedback',
  ] as const),
  ...(['vote.cast', 'judgment.reached', 'judgment.revised'] as const),
  ...(['sample.ready', 'sample.dropped', 'policy.trained'] as const),
]);

type Options = {
  /** Shortens the texts of a turn, for a reader that keeps many turns; default: whole texts. */
  readonly shorten?: (text: string) => string;
  /** Called with the id of each turn that an event changed. */
  readonly changed?: (turnId: string) => void;
};

/** Follows turns from message to gradient. Feed it the topics in the order of the loop. */
export class TurnViews {
  readonly #shorten: (text: string) => string;
  readonly #changed: (turnId: string) => void;
  readonly #turns = new Map<string, TurnView>();
  readonly turns: ReadonlyMap<string, TurnView> = this.#turns;
  readonly #batches = new Map<string, readonly string[]>();
  /** by turn: its latest sample, which decides the stage; a revised verdict makes another one */
  readonly #samples = new Map<string, string>();
  /** turns that trained, so that the end of a later sample does not hide it */
  readonly #trained = new Map<string, TurnStage>();
  readonly #votesSeen = new Set<string>();
  readonly #heads = new Map<string, ReturnType<typeof openHead>>();

  constructor({ shorten = (text) => text, changed = () => {} }: Options = {}) {
    this.#shorten = shorten;
    this.#changed = changed;
  }

  #headOf(adapter: string) {
    const head = this.#heads.get(adapter) ?? openHead();
    this.#heads.set(adapter, head);
    return head;
  }

  #update(id: string, changes: Partial<TurnView>): void {
    const turn = this.#turns.get(id);
    if (turn === undefined) return;
    this.#turns.set(id, { ...turn, ...changes });
    this.#changed(id);
  }

  #onInteraction(event: InteractionCompleted): void {
    const { interactionId: id } = event.data;
    if (this.#turns.has(id)) return;
    const turn = viewOf(event);
    const { asked, answered } = turn;
    this.#turns.set(id, { ...turn, asked: this.#shorten(asked), answered: this.#shorten(answered) });
    this.#changed(id);
  }

  #endBatch(batchId: string, stage: TurnStage): void {
    for (const id of this.#batches.get(batchId) ?? []) {
      if (stage.kind === 'trained') this.#trained.set(turnOfSample(id), stage);
      this.#update(turnOfSample(id), { stage });
    }
    this.#batches.delete(batchId);
  }

  /** Samples that were left out do not share the outcome of their batch. */
  #onTrained({ batchId, leftOut = [] }: PolicyTrained['data']): void {
    if (leftOut.length === 0) return;
    const left = new Set(leftOut.map(({ sampleId }) => sampleId));
    const others = (this.#batches.get(batchId) ?? []).filter((id) => !left.has(id));
    if (this.#batches.has(batchId)) this.#batches.set(batchId, others);
    for (const { sampleId, reason } of leftOut)
      this.#update(turnOfSample(sampleId), { stage: { kind: 'not-trained', reason } });
  }

  #onSkipped({ data }: TurnSkipped): void {
    const turn = this.#turns.get(data.turnId);
    if (turn === undefined || (['too-late', 'record-gone'].includes(data.reason) && isSettled(turn))) return;
    this.#update(data.turnId, {
      session: data.session ?? turn.session,
      rule: data.rule ?? turn.rule,
      disagreement: data.disagreement,
      stage: { kind: 'not-trained', reason: data.reason },
    });
  }

  #onVote({ id, data }: VoteCast): void {
    if (this.#votesSeen.has(id)) return; // a duplicate is not a second vote
    this.#votesSeen.add(id);
    const votes = this.#turns.get(data.turnId)?.votes ?? [];
    const plain = data.reaction === undefined ? {} : { isPlain: true };
    this.#update(data.turnId, { votes: [...votes, String(data.vote ?? 'null')], ...plain });
  }

  #onBatch({ data: { batchId, samples } }: BatchSubmitted): void {
    this.#batches.set(
      batchId,
      samples.map(({ sampleId }) => sampleId),
    );
    for (const { sampleId, standing } of samples)
      this.#update(turnOfSample(sampleId), {
        ...defined({ standing }),
        stage: { kind: 'in-batch', batchId },
      });
  }

  #onReady(sampleId: string): void {
    const turn = turnOfSample(sampleId);
    this.#samples.set(turn, sampleId);
    if (this.#turns.get(turn)?.stage.kind !== 'in-batch')
      this.#update(turn, { stage: { kind: 'waiting-for-batch' } });
  }

  /** Another sample of the turn may decide its stage: a later one, one in a batch, or one that trained. */
  #onDropped({ sampleId, reason, rule }: SampleDropped['data']): void {
    const turn = turnOfSample(sampleId);
    const isOther = (this.#samples.get(turn) ?? sampleId) !== sampleId;
    if (reason === 'corrected' || isOther || this.#turns.get(turn)?.stage.kind === 'in-batch') return;
    const stage = this.#trained.get(turn) ?? { kind: 'not-trained', reason };
    this.#update(turn, { ...defined({ rule }), stage });
  }

  readonly on = (event: ClawLoopEvent): void => {
    switch (event.type) {
      case 'interaction.completed':
        this.#onInteraction(event);
        break;
      case 'turn.completed': {
        const { turnId, session, settle, rule, disagreement } = event.data;
        const kind = settle === 'reward' ? 'waiting-for-end-of-session' : 'waiting-for-verdict';
        this.#update(turnId, {
          session,
          rule,
          disagreement,
          stage: { kind },
          reaction: this.#shorten(spokenIn(event.data.next)),
        });
        break;
      }
      case 'turn.continued':
        this.#update(event.data.turnId, { reaction: this.#shorten(spokenIn(event.data.next)) });
        break;
      case 'turn.skipped':
        this.#onSkipped(event);
        break;
      case 'vote.cast':
        this.#onVote(event);
        break;
      case 'turn.feedback':
        if (event.data.return !== undefined) this.#update(event.data.turnId, { own: event.data.return.own });
        break;
      case 'judgment.reached': {
        const { turnId, score, source, advantage, implied, inferred, process } = event.data;
        const details = defined({ advantage, implied, inferred, process });
        this.#update(turnId, { score, source, ...details, stage: { kind: 'waiting-for-session' } });
        break;
      }
      case 'judgment.revised': {
        const { turnId, score, source } = event.data;
        if (score !== null) this.#update(turnId, { score, source, inferred: undefined, standing: undefined });
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

/** Whether the outcome of a turn is known, so that a late copy changes nothing. */
const isSettled = ({ stage, rule }: TurnView): boolean =>
  !['waiting-for-next-state', 'waiting-for-end-of-session'].includes(stage.kind) || rule !== '';

/** A promotion counts only if its parent is still the head. */
const promotedStage = ({ batchId, from, to }: PolicyPromoted['data'], head: number): TurnStage =>
  from === head
    ? { kind: 'trained', batchId, version: to }
    : { kind: 'not-trained', reason: 'parent-rolled-back' };

function viewOf({ time, data }: InteractionCompleted): TurnView {
  const lastWords = spokenMessages(data.messages).findLast(isHuman) ?? data.messages.findLast(isHuman);
  return {
    turnId: data.interactionId,
    time,
    lane: data.lane,
    session: data.session ?? '',
    adapter: data.adapter,
    version: data.version,
    live: data.live,
    asked: (lastWords && userWords(lastWords)) || textOf(lastWords),
    answered: textOf(data.answer),
    rule: '',
    disagreement: undefined,
    score: undefined,
    source: '',
    reaction: '',
    isPlain: false,
    votes: [],
    stage: stageOf(data),
  };
}

const stageOf = ({ live, settle }: InteractionCompleted['data']): TurnStage =>
  !live
    ? { kind: 'not-trained', reason: 'pinned' }
    : { kind: settle === 'reward' ? 'waiting-for-end-of-session' : 'waiting-for-next-state' };

/** The person reacted, but the judges heard neither praise nor complaint; perhaps they did not understand. */
export const isUnheard = ({ score, source, reaction, isPlain }: TurnView): boolean =>
  score === 0 && source === 'votes' && reaction !== '' && !isPlain;

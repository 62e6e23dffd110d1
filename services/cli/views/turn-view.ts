import { spokenMessages } from '../../../shared/chat/client-blocks.ts';
import { isHuman } from '../../../shared/chat/message.ts';
import { userWords } from '../../../shared/chat/normalise.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import type { Disagreement } from '../../../shared/events/disagreement.ts';
import { topicOf } from '../../../shared/events/parse-event.ts';
import type { PolicyPromoted } from '../../../shared/events/policy-promoted.ts';
import type { SampleDropped } from '../../../shared/events/sample-dropped.ts';
import { turnOfSample } from '../../../shared/events/sample-id.ts';
import type { TurnSkipped } from '../../../shared/events/turn-skipped.ts';
import { applyHead, type HeadState, initialHead } from '../../../shared/lineage/head.ts';

/** How far an interaction has come on its way to the gradient. */
export type TurnStage =
  | { readonly kind: 'waiting-for-next-state' }
  /** it is settled by reward */
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
  /** what the person did, where that is all that tells */
  readonly implied?: string;
  /** the hint that nobody gave, and that the person's complaints have in common */
  readonly inferred?: string | undefined;
  /** wishes that its person told before, which its batch names beside it */
  readonly standing?: readonly string[] | undefined;
  /** what was said after the answer; '' until it is known, or where nothing was */
  readonly reaction: string;
  /** the person went on, or asked again, whatever they said */
  readonly isPlain: boolean;
  /** of a rewarded session: the reward of this very turn, null: none was set; its score is its return */
  readonly own?: number | null;
  /** against other attempts at the task, in place of the score less the baseline */
  readonly advantage?: number;
  readonly votes: readonly string[];
  readonly stage: TurnStage;
};

export type TurnViews = ReadonlyMap<string, TurnView>;

/** Follows turns from message to gradient. Feed it the topics in the order of the loop. */
export function createTurnViews() {
  const turns = new Map<string, TurnView>();
  const batches = new Map<string, readonly string[]>();
  const votesSeen = new Set<string>();
  const heads = new Map<string, HeadState>();
  const update = (id: string, changes: Partial<TurnView>): void => {
    const turn = turns.get(id);
    if (turn !== undefined) turns.set(id, { ...turn, ...changes });
  };
  const endBatch = (batchId: string, stage: TurnStage): void => {
    for (const id of batches.get(batchId) ?? []) update(turnOfSample(id), { stage });
    batches.delete(batchId);
  };
  const onSkipped = ({ data }: TurnSkipped): void => {
    const turn = turns.get(data.turnId);
    if (turn === undefined || (['too-late', 'record-gone'].includes(data.reason) && isTold(turn))) return;
    update(data.turnId, {
      session: data.session ?? turn.session,
      rule: data.rule ?? turn.rule,
      disagreement: data.disagreement,
      stage: { kind: 'not-trained', reason: data.reason },
    });
  };
  /** Another sample of the turn takes the place of this one, or stands. */
  const isOfOther = ({ sampleId, reason }: SampleDropped['data']): boolean => {
    const stage = turns.get(turnOfSample(sampleId))?.stage.kind ?? '';
    const stands = ['waiting-for-batch', 'in-batch', 'trained'].includes(stage);
    return reason === 'corrected' || (turnOfSample(sampleId) !== sampleId && stands);
  };
  const on = (event: ClawLoopEvent): void => {
    switch (event.type) {
      case 'interaction.completed':
        if (!turns.has(event.data.interactionId)) turns.set(event.data.interactionId, viewOf(event));
        break;
      case 'turn.completed': {
        const { turnId, session, settle, rule, disagreement } = event.data;
        const kind = settle === 'reward' ? 'waiting-for-end-of-session' : 'waiting-for-verdict';
        update(turnId, { session, rule, disagreement, stage: { kind }, reaction: saidIn(event.data.next) });
        break;
      }
      case 'turn.continued':
        update(event.data.turnId, { reaction: saidIn(event.data.next) });
        break;
      case 'turn.skipped':
        onSkipped(event);
        break;
      case 'vote.cast': {
        if (votesSeen.has(event.id)) break; // a copy in the log is no second vote
        votesSeen.add(event.id);
        const votes = turns.get(event.data.turnId)?.votes ?? [];
        const plain = event.data.reaction === undefined ? {} : { isPlain: true };
        update(event.data.turnId, { votes: [...votes, String(event.data.vote ?? 'null')], ...plain });
        break;
      }
      case 'turn.feedback':
        if (event.data.return !== undefined) update(event.data.turnId, { own: event.data.return.own });
        break;
      case 'judgment.reached': {
        const { turnId, score, source, advantage, implied, inferred } = event.data;
        const given = {
          ...(advantage === undefined ? {} : { advantage }),
          ...(implied === undefined ? {} : { implied }),
          ...(inferred === undefined ? {} : { inferred }),
        };
        update(turnId, { score, source, ...given, stage: { kind: 'waiting-for-session' } });
        break;
      }
      case 'judgment.revised': {
        const { turnId, score, source } = event.data;
        if (score !== null) update(turnId, { score, source, inferred: undefined, standing: undefined });
        break;
      }
      case 'sample.ready':
        update(turnOfSample(event.data.sampleId), { stage: { kind: 'waiting-for-batch' } });
        break;
      case 'sample.dropped':
        if (isOfOther(event.data)) break;
        update(turnOfSample(event.data.sampleId), {
          ...(event.data.rule === undefined ? {} : { rule: event.data.rule }),
          stage: { kind: 'not-trained', reason: event.data.reason },
        });
        break;
      case 'batch.submitted': {
        const { batchId, samples } = event.data;
        batches.set(
          batchId,
          samples.map(({ sampleId }) => sampleId),
        );
        for (const { sampleId, standing } of samples)
          update(turnOfSample(sampleId), {
            ...(standing === undefined ? {} : { standing }),
            stage: { kind: 'in-batch', batchId },
          });
        break;
      }
      case 'policy.promoted':
        endBatch(event.data.batchId, promotedStage(event.data, heads.get(event.subject) ?? initialHead));
        break;
      case 'policy.rejected':
      case 'policy.update-failed':
        endBatch(event.data.batchId, { kind: 'not-trained', reason: event.data.reason });
        break;
    }
    if (topicOf(event) === 'training')
      heads.set(event.subject, applyHead(heads.get(event.subject) ?? initialHead, event));
  };
  return { on, turns: turns as TurnViews };
}

/** A copy that came too late says nothing of a turn whose outcome is known. */
const isTold = ({ stage, rule }: TurnView): boolean =>
  !['waiting-for-next-state', 'waiting-for-end-of-session'].includes(stage.kind) || rule !== '';

/** A promotion counts only while its parent is the head. */
const promotedStage = ({ batchId, from, to }: PolicyPromoted['data'], { head }: HeadState): TurnStage =>
  from === head
    ? { kind: 'trained', batchId, version: to }
    : { kind: 'not-trained', reason: 'parent-rolled-back' };

function viewOf({ time, data }: Extract<ClawLoopEvent, { type: 'interaction.completed' }>): TurnView {
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

const stageOf = ({
  live,
  settle,
}: Extract<ClawLoopEvent, { type: 'interaction.completed' }>['data']): TurnStage =>
  !live
    ? { kind: 'not-trained', reason: 'pinned' }
    : { kind: settle === 'reward' ? 'waiting-for-end-of-session' : 'waiting-for-next-state' };

/** What a person said; results of tools are no words of theirs. */
const saidIn = (next: readonly ChatMessage[]): string =>
  next
    .filter(isHuman)
    .map((message) => userWords(message) || textOf(message))
    .join(' ');

/** A person spoke, and the judges made nothing of it: perhaps they did not understand. */
export const isUnheard = ({ score, source, reaction, isPlain }: TurnView): boolean =>
  score === 0 && source === 'votes' && reaction !== '' && !isPlain;

export function textOf(message: ChatMessage | undefined): string {
  const content = message?.content;
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => part.text ?? `[${part.type}]`).join(' ');
}

/** One word or two for a person: where the turn is, or why it does not train. */
export function describeStage(stage: TurnStage): string {
  switch (stage.kind) {
    case 'trained':
      return `trained in v${stage.version}`;
    case 'not-trained':
      return `not trained: ${stage.reason}`;
    case 'in-batch':
      return `in ${stage.batchId}`;
    default:
      return stage.kind.replaceAll('-', ' ');
  }
}

/** What the content of a turn's request tells against what its client said of it; '' where they agree. */
export function describeDisagreement({ disagreement: { session, turn } = {} }: TurnView): string {
  const parts = [turn?.rule, session === undefined ? undefined : `session ${session}`];
  const told = parts.filter((part) => part !== undefined).join(', ');
  return told === '' ? '' : `not ${told}`;
}

/** What a turn was worth, and by whom; of a return how much of it was its own reward. */
export function describeVerdict(turn: TurnView): string {
  const { score, source, votes, own, advantage, implied, inferred, standing } = turn;
  const returned =
    own === undefined ? undefined : `return, ${own === null ? 'no reward' : rounded(own)} of its own`;
  const compared = advantage === undefined ? '' : `, advantage ${rounded(advantage)}`;
  const cast = votes.length === 0 ? '' : `, votes ${votes.join(' ')}`;
  if (score === undefined) return `none yet${cast}`;
  if (score === null) return `unavailable by ${source}${cast}`;
  const did = implied === undefined || source !== 'implicit' ? '' : ` (${implied})`;
  const meant = inferred === undefined ? '' : `, inferred from other complaints: ${inferred}`;
  const stands = standing === undefined ? '' : `, beside it the standing wishes ${standing.join(', ')}`;
  return `${rounded(score)} by ${source}${did}${returned === undefined ? '' : ` (${returned})`}${compared}${cast}${meant}${stands}`;
}

/** A return is a long fraction. */
export const rounded = (value: number): number => Number(value.toFixed(4));

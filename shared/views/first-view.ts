import type { InteractionCompleted } from '../events/interaction-completed.ts';
import { answeredIn, askedIn } from './turn-texts.ts';
import type { TurnStage, TurnView } from './turn-view.ts';

/** A turn when nothing but its answer is known. @param keepsTexts false: without the words of the person and the model */
export function viewOf({ time, data }: InteractionCompleted, keepsTexts: boolean): TurnView {
  return {
    turnId: data.interactionId,
    time,
    lane: data.lane,
    session: data.session ?? '',
    adapter: data.adapter,
    version: data.version,
    live: data.live,
    asked: keepsTexts ? askedIn(data) : '',
    answered: keepsTexts ? answeredIn(data) : '',
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

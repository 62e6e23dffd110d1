import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { JudgmentReached } from '../../../shared/events/judgment-reached.ts';
import type { Audited, Folded, ReportViolation } from './audited.ts';

type Turn = {
  readonly epoch: string;
  readonly isRewarded: boolean;
  /** assemble has read the turn */
  readonly assembled: boolean;
  judged: boolean;
  /** set once assemble has read it */
  judgment: JudgmentReached['data'] | undefined;
  /** it became a sample or was dropped */
  isSettled: boolean;
};
type Epoch = { turns: number; judged: number; closedForJudge: boolean; closedForSamples: boolean };

/**
 * Checks that folds have acted on what they read: a judged turn becomes a sample or is dropped once its session
 * allows it, and a turn that waits for a reward is settled when its session closes. Feed it turns, then training.
 */
export function createProgressCheck(violation: ReportViolation, folded: Folded) {
  const turns = new Map<string, Turn>();
  const epochs = new Map<string, Epoch>();
  const epochOf = (name: string): Epoch => {
    const epoch = epochs.get(name) ?? { turns: 0, judged: 0, closedForJudge: false, closedForSamples: false };
    epochs.set(name, epoch);
    return epoch;
  };

  const on = (record: Audited): void => {
    const event: ClawLoopEvent = record.event;
    switch (event.type) {
      case 'turn.completed': {
        const { turnId, session, epoch, settle } = event.data;
        if (turns.has(turnId)) break;
        const name = `${session}@${epoch}`;
        epochOf(name).turns += 1;
        const assembled = folded('assemble', record);
        const fresh = { epoch: name, isRewarded: settle === 'reward', assembled, judgment: undefined };
        turns.set(turnId, { ...fresh, judged: false, isSettled: false });
        break;
      }
      case 'judgment.reached': {
        const turn = turns.get(event.data.turnId);
        if (turn === undefined || turn.judgment !== undefined) break;
        turn.judged = true;
        if (!folded('assemble', record)) break;
        turn.judgment = event.data;
        epochOf(turn.epoch).judged += 1;
        break;
      }
      case 'session.closed': {
        const epoch = epochOf(`${event.data.session}@${event.data.epoch}`);
        epoch.closedForJudge ||= folded('judge', record);
        epoch.closedForSamples ||= folded('assemble', record);
        break;
      }
      case 'sample.ready':
      case 'sample.dropped': {
        const turn = turns.get(event.data.sampleId);
        if (turn !== undefined) turn.isSettled = true;
        break;
      }
    }
  };

  const finish = (): void => {
    for (const [id, { epoch: name, isRewarded, assembled, judged, judgment, isSettled }] of turns) {
      const epoch = epochOf(name);
      if (!judged && isRewarded && epoch.closedForJudge && !isSettled)
        violation(`${id} waits for a reward, although its session ${name} was closed`, 'turns');
      if (judgment === undefined || isSettled || !assembled) continue;
      const { source, score, hints } = judgment;
      // a method that learns from hints only waits for the words after a thumb
      const waits = source === 'reward' || (source === 'feedback' && hints.length === 0);
      const atOnce = source === 'unavailable' || (!waits && score !== 0);
      if (atOnce || (epoch.closedForSamples && epoch.judged === epoch.turns))
        violation(`${id} was judged, but is neither a sample nor dropped`, 'training');
    }
  };
  return { on, finish };
}

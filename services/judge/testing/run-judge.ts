import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { JudgmentReached } from '../../../shared/events/judgment-reached.ts';
import { memoryRows } from '../../../shared/log/rows.ts';
import { judgeFold } from '../judge-fold.ts';
import type { JudgeSettings } from '../judge-settings.ts';
import { owedVotes } from './owed-votes.ts';

/** The judge's fold over events of one lane. */
export function openRun() {
  const rows = memoryRows();
  const emitted: JudgmentReached['data'][] = [];
  let offset = 0;
  return {
    rows,
    emitted,
    on(events: readonly ClawLoopEvent[], settings: JudgeSettings = { votes: 3 }) {
      for (const event of events) {
        const { changes, emit } = judgeFold.on(rows, event, { partition: 0, offset }, settings);
        offset += 1;
        rows.apply(changes);
        for (const one of emit) emitted.push((one as JudgmentReached).data);
      }
      return emitted;
    },
    /** Rows, but for the memory of ids that are settled. */
    waiting: () => [...rows.entries('')].filter(([key]) => !key.startsWith('settled')).length,
    owed: () => owedVotes('lane-1', rows).map(({ id }) => id),
  };
}

/** What the fold emits of these events. */
export const judge = (events: readonly ClawLoopEvent[], settings?: JudgeSettings) =>
  openRun().on(events, settings);

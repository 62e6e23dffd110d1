import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { JudgmentReached } from '../../../shared/events/judgment-reached.ts';
import type { Audited, Folded, ReportViolation } from './audited.ts';
import type { Books } from './books/books.ts';
import { openColumn, openMarks } from './books/column.ts';

/** Marks of a turn. */
const [REWARDED, ASSEMBLED, JUDGED, SETTLED, READ, AT_ONCE] = [1, 2, 4, 8, 16, 32];

/**
 * Checks that folds have acted on what they read: a judged turn becomes a sample or is dropped once its session
 * allows it, and a turn that waits for a reward is settled when its session closes. Feed it turns, then training.
 */
export function createProgressCheck(violation: ReportViolation, folded: Folded, { items, names }: Books) {
  /** by turn: number of the name of its session and epoch, plus 1; 0: no such turn */
  const epochOf = openColumn('int');
  /** by turn. REWARDED: settled by reward; ASSEMBLED: assemble has read it; READ: assemble has read its judgment;
   * AT_ONCE: that judgment makes a sample at once; SETTLED: it became a sample or was dropped */
  const marks = openColumn('byte');
  const mark = (turn: number, added: number) => marks.set(turn, marks.get(turn) | added);
  /** by epoch */
  const [turns, judged] = [openColumn('int'), openColumn('int')];
  const [closedForJudge, closedForSamples] = [openMarks(), openMarks()];

  const on = (record: Audited): void => {
    const event: ClawLoopEvent = record.event;
    switch (event.type) {
      case 'turn.completed': {
        const { turnId, session, epoch, settle } = event.data;
        const turn = items.add(turnId);
        if (epochOf.get(turn) > 0) break;
        const name = names.add(`${session}@${epoch}`);
        epochOf.set(turn, name + 1);
        turns.set(name, turns.get(name) + 1);
        mark(turn, (settle === 'reward' ? REWARDED : 0) | (folded('assemble', record) ? ASSEMBLED : 0));
        break;
      }
      case 'judgment.reached': {
        const turn = items.find(event.data.turnId);
        const epoch = epochOf.get(turn) - 1;
        if (epoch < 0 || (marks.get(turn) & READ) !== 0) break;
        mark(turn, JUDGED);
        if (!folded('assemble', record)) break;
        mark(turn, READ | (isDueAtOnce(event.data) ? AT_ONCE : 0));
        judged.set(epoch, judged.get(epoch) + 1);
        break;
      }
      case 'session.closed': {
        const epoch = names.add(`${event.data.session}@${event.data.epoch}`);
        if (folded('judge', record)) closedForJudge.add(epoch);
        if (folded('assemble', record)) closedForSamples.add(epoch);
        break;
      }
      case 'sample.ready':
      case 'sample.dropped': {
        const turn = items.find(event.data.sampleId);
        if (epochOf.get(turn) > 0) mark(turn, SETTLED);
        break;
      }
    }
  };

  const finish = (): void => {
    for (let turn = 0; turn < items.size(); turn++) {
      const epoch = epochOf.get(turn) - 1;
      const marked = marks.get(turn);
      if (epoch < 0 || (marked & SETTLED) !== 0) continue;
      if ((marked & (JUDGED | REWARDED)) === REWARDED && closedForJudge.has(epoch))
        violation(
          `${items.nameOf(turn)} waits for a reward, although its session ${names.nameOf(epoch)} was closed`,
          'turns',
        );
      if ((marked & READ) === 0 || (marked & ASSEMBLED) === 0) continue;
      const isWhole = closedForSamples.has(epoch) && judged.get(epoch) === turns.get(epoch);
      if ((marked & AT_ONCE) !== 0 || isWhole)
        violation(`${items.nameOf(turn)} was judged, but is neither a sample nor dropped`, 'training');
    }
  };
  return { on, finish };
}

function isDueAtOnce({ source, score, hints }: JudgmentReached['data']): boolean {
  // a method that learns from hints only waits for the words after a thumb
  const waits = source === 'reward' || (source === 'feedback' && hints.length === 0);
  return source === 'unavailable' || (!waits && score !== 0);
}

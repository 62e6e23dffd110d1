import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { hasCarriedId, revisedSampleId, turnOfSample } from '../../../shared/events/sample-id.ts';
import type { Audited, ReportViolation } from './audited.ts';
import type { Books } from './books/books.ts';
import { type Counter, type Entry, openEntries } from './books/entries.ts';
import { type Names, openIds } from './books/ids.ts';
import type { Owed } from './overdue.ts';

/** Events that a fold emits in the commit that decides them: a second copy means a second decision. */
const decidedOnce: ReadonlySet<ClawLoopEvent['type']> = new Set<ClawLoopEvent['type']>([
  'turn.completed',
  'turn.continued',
  'turn.skipped',
  'turn.feedback',
  'session.opened',
  'session.closed',
  'judgment.reached',
  'judgment.revised',
  'sample.ready',
  'sample.dropped',
  'batch.submitted',
  'verdict.recorded',
]);

/**
 * Checks that every live interaction has one outcome, and every ready sample is in one batch or dropped, and once
 * more each time that it is to train again. Feed it the topics in the order of the loop.
 *
 * @param setAside whether a group rejected the record: a copy may follow, put back by a redrive
 */
export class ConservationCheck {
  readonly #violation: ReportViolation;
  readonly #setAside: (record: Audited) => boolean;
  readonly #items: Names;
  readonly #entries;
  /** types and ids of events that are decided once */
  readonly #emitted = openIds();
  /** by number of the event: more than one copy, or a rejected one */
  readonly #repeated = new Map<number, { readonly copies: number; readonly rejected: number }>();
  readonly #reasons = new Map<string, number>();
  /** ids of operators' commands that made samples train again */
  readonly #returns = new Set<string>();

  constructor(violation: ReportViolation, setAside: (record: Audited) => boolean, books: Books) {
    this.#violation = violation;
    this.#setAside = setAside;
    this.#items = books.items;
    this.#entries = openEntries(books);
  }

  #countReason(reason: string): void {
    this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1);
  }

  /** Whether a record is a copy of an event that counts already. */
  #isCopy(record: Audited): boolean {
    const { event } = record;
    const tooLate = event.type === 'turn.skipped' && event.data.reason === 'too-late';
    if (!decidedOnce.has(event.type) || tooLate) return false;
    const name = `${event.type} ${event.id}`;
    const emitted = this.#emitted.size();
    const number = this.#emitted.add(name);
    const isFirst = number === emitted;
    // put back for a group that could not read the first copy; the audit can, and counts that one
    if (event.redrivenfor !== undefined && !isFirst) return true;
    const before = this.#repeated.get(number) ?? { copies: isFirst ? 0 : 1, rejected: 0 };
    const copies = before.copies + 1;
    if (copies > 1 + before.rejected) this.#violation(`${name} is in the log ${copies} times`);
    const rejected = before.rejected + (this.#setAside(record) ? 1 : 0);
    if (copies > 1 || rejected > 0) this.#repeated.set(number, { copies, rejected });
    return copies > 1 && before.rejected > 0;
  }

  readonly on = (record: Audited): void => {
    if (this.#isCopy(record)) return;
    const { event } = record;
    const entries = this.#entries;
    const count = (id: string, counter: Counter) => {
      const item = this.#items.add(id);
      entries.count(item, counter);
      entries.touch(item, record.time);
    };
    switch (event.type) {
      case 'interaction.completed': {
        const item = this.#items.add(event.data.interactionId);
        entries.see(item, event.data);
        entries.touch(item, record.time);
        break;
      }
      case 'turn.skipped':
        if (event.data.reason === 'too-late') {
          entries.mark(this.#items.add(event.data.turnId), 'tooLate');
          break;
        }
        // the verdict came first; only the continuation is lost
        if (
          event.data.reason === 'record-gone' &&
          entries.has(this.#items.add(event.data.turnId), 'completed')
        )
          break;
        count(event.data.turnId, 'skipped');
        this.#countReason(event.data.reason);
        break;
      case 'turn.completed':
        count(event.data.turnId, 'completed');
        break;
      case 'judgment.reached':
        count(event.data.turnId, 'judged');
        break;
      case 'turn.continued':
        entries.mark(this.#items.add(event.data.turnId), 'continued');
        break;
      case 'judgment.revised':
        count(revisedSampleId(event.data.turnId, event.data.n), 'judged');
        break;
      case 'sample.ready':
        count(event.data.sampleId, 'ready');
        break;
      case 'sample.dropped':
        count(event.data.sampleId, 'dropped');
        if (event.data.returned === undefined) this.#countReason(event.data.reason);
        break;
      case 'batch.returned':
        if (this.#returns.has(event.id)) break;
        this.#returns.add(event.id);
        for (const { sampleId } of event.data.samples) count(sampleId, 'returned');
        break;
      case 'batch.submitted':
        for (const { sampleId } of event.data.samples) entries.count(this.#items.add(sampleId), 'batches');
        break;
    }
  };

  /**
   * @param restsSince time of the latest event of a lane, ms since 1970: a session may wait while its lane is busy
   * @param wholeSince time from which on no record was trimmed: the outcome of an older interaction may have been
   */
  report(restsSince: (lane: string) => number, wholeSince: number) {
    const counts = { interactions: 0, 'of these live': 0, 'in a batch': 0, 'not trained, with a reason': 0 };
    const open = {
      'interactions without an outcome': 0,
      'turns without a judgment': 0,
      'judgments without a sample': 0,
      'samples without a batch': 0,
    };
    const owed: Owed[] = [];
    let uncovered = 0;
    for (let number = 0; number < this.#items.size(); number++) {
      const item = this.#entries.get(number);
      if (item === undefined) continue;
      const id = this.#items.nameOf(number);
      const turnId = turnOfSample(id);
      if (turnId !== id) {
        const turn = this.#entries.get(this.#items.find(turnId));
        if (checkRevision(id, item, turn, this.#violation)) open['samples without a batch'] += 1;
        continue;
      }
      if (item.seen) counts.interactions += 1;
      if (item.live) counts['of these live'] += 1;
      checkEntry(id, item, this.#violation);
      if (!item.live || !item.seen) continue;
      if (item.returned > 0 && !isSpent(item)) open['samples without a batch'] += 1;
      if (item.batches > 0) counts['in a batch'] += 1;
      else if (item.skipped + item.dropped > 0) counts['not trained, with a reason'] += 1;
      else if (item.completed === 0 && item.tooLate) {
        counts['not trained, with a reason'] += 1;
        this.#countReason('too-late');
      } else if (item.completed === 0 && item.since < wholeSince) uncovered += 1;
      else {
        const { what, waits } = stageOf(item);
        open[what] += 1;
        const since = waits ? restsSince(item.lane) : item.since;
        if (what !== 'samples without a batch') owed.push({ what: `${id} (${what})`, since });
      }
    }
    const reasonCounts = [...this.#reasons].sort().map(([reason, count]) => [`  ${reason}`, count]);
    return { counts: { ...counts, ...Object.fromEntries(reasonCounts) }, open, owed, uncovered };
  }
}

/** The stage of an open turn, and whether it waits for its session. */
function stageOf({ completed, judged, ready, byReward }: Entry) {
  if (completed === 0) return { what: 'interactions without an outcome', waits: true } as const;
  if (ready > 0) return { what: 'samples without a batch', waits: false } as const;
  if (judged > 0) return { what: 'judgments without a sample', waits: true } as const;
  return { what: 'turns without a judgment', waits: byReward } as const;
}

/** A revised judgment makes one sample of its turn, or none, and at most one of each call before it. @returns whether the sample waits for a batch */
function checkRevision(
  id: string,
  item: Entry,
  turn: Entry | undefined,
  violation: ReportViolation,
): boolean {
  const { judged, ready } = item;
  const turnId = turnOfSample(id);
  if ((turn?.judged ?? 0) === 0) violation(`${id} revises a judgment of ${turnId}, which has none`, 'turns');
  if (judged === 0 && !hasCarriedId(id)) violation(`the sample ${id} has no judgment`, 'turns');
  if (judged > 1) violation(`${id} has ${judged} judgments`);
  if (ready > 1) violation(`${id} was ready ${ready} times`);
  checkUses(id, item, violation);
  return ready > 0 && !isSpent(item);
}

/** A sample is in a batch or dropped, once, and once more each time that it is to train again. */
function checkUses(
  id: string,
  { ready, batches, dropped, returned }: Entry,
  violation: ReportViolation,
): void {
  const again = returned === 0 ? '' : `, but was to train again ${returned} times`;
  if (batches + dropped > 1 + returned)
    violation(`${id} is in ${batches} batches and was dropped ${dropped} times${again}`);
  if (returned > 0 && batches === 0) violation(`${id} was to train again, but is in no batch`, 'training');
  if (ready === 0 && batches > 0) violation(`${id} is in a batch, but was never ready`, 'training');
}

const isSpent = ({ batches, dropped, returned }: Entry): boolean => batches + dropped > returned;

function checkEntry(id: string, item: Entry, violation: ReportViolation): void {
  const { seen, live, judged, ready, dropped, completed } = item;
  const outcomes = item.skipped + completed;
  if (!seen) violation(`${id} has an outcome, but its interaction is not in the log`, 'conversations');
  else if (!live && outcomes > 0) violation(`${id} asked for a pinned version, but made a turn`);
  else if (outcomes > 1) violation(`${id} has ${outcomes} outcomes`);
  if (completed === 0 && judged + ready > 0) violation(`${id} was judged, but never completed`, 'turns');
  if (completed === 0 && dropped > 0) violation(`${id} was dropped, but never completed`, 'turns');
  if (item.continued && completed === 0) violation(`${id} was continued, but never completed`, 'turns');
  if (judged > 1) violation(`${id} has ${judged} judgments`);
  if (ready === 0 && dropped > 1) violation(`${id} was dropped ${dropped} times`);
  if (ready > 1) violation(`${id} was ready ${ready} times`);
  if (ready > 0) checkUses(id, item, violation);
  else if (item.batches > 0) violation(`${id} is in a batch, but was never ready`, 'training');
}

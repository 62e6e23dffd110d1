import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { revisedSampleId, turnOfSample } from '../../../shared/events/sample-id.ts';
import type { Audited, ReportViolation } from './audited.ts';
import type { Owed } from './overdue.ts';

type Entry = {
  lane: string;
  /** append time of its latest event, ms since 1970 */
  since: number;
  byReward: boolean;
  live: boolean;
  seen: boolean;
  skipped: number;
  tooLate: boolean;
  completed: number;
  continued: boolean;
  judged: number;
  ready: number;
  dropped: number;
  batches: string[];
};

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

const nothing = {
  skipped: 0,
  tooLate: false,
  completed: 0,
  continued: false,
  judged: 0,
  ready: 0,
  dropped: 0,
};

/**
 * Checks that every live interaction has one outcome, and every ready sample is in one batch or dropped. Feed
 * it the topics in the order of the loop.
 *
 * @param setAside whether a group rejected the record: a copy may follow, put back by a redrive
 */
export class ConservationCheck {
  readonly #violation: ReportViolation;
  readonly #setAside: (record: Audited) => boolean;
  readonly #entries = new Map<string, Entry>();
  readonly #emitted = new Map<string, { copies: number; rejected: number }>();
  readonly #reasons = new Map<string, number>();

  constructor(violation: ReportViolation, setAside: (record: Audited) => boolean) {
    this.#violation = violation;
    this.#setAside = setAside;
  }

  #entry(id: string): Entry {
    const fresh = { lane: '', since: 0, byReward: false, live: false, seen: false, ...nothing, batches: [] };
    const known = this.#entries.get(id) ?? fresh;
    this.#entries.set(id, known);
    return known;
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
    // put back for a group that could not read the first copy; the audit can, and counts that one
    if (event.redrivenfor !== undefined && this.#emitted.has(name)) return true;
    const known = this.#emitted.get(name) ?? { copies: 0, rejected: 0 };
    known.copies += 1;
    if (known.copies > 1 + known.rejected) this.#violation(`${name} is in the log ${known.copies} times`);
    const putBack = known.copies > 1 && known.rejected > 0;
    if (this.#setAside(record)) known.rejected += 1;
    this.#emitted.set(name, known);
    return putBack;
  }

  readonly on = (record: Audited): void => {
    if (this.#isCopy(record)) return;
    const { event } = record;
    const count = (id: string, counter: 'skipped' | 'completed' | 'judged' | 'ready' | 'dropped') => {
      const counted = this.#entry(id);
      counted[counter] += 1;
      counted.since = record.time;
    };
    switch (event.type) {
      case 'interaction.completed': {
        const { interactionId, live, lane, settle } = event.data;
        const since = record.time;
        Object.assign(this.#entry(interactionId), {
          seen: true,
          live,
          lane,
          since,
          byReward: settle === 'reward',
        });
        break;
      }
      case 'turn.skipped':
        if (event.data.reason === 'too-late') {
          this.#entry(event.data.turnId).tooLate = true;
          break;
        }
        // the verdict came first; only the continuation is lost
        if (event.data.reason === 'record-gone' && this.#entry(event.data.turnId).completed > 0) break;
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
        this.#entry(event.data.turnId).continued = true;
        break;
      case 'judgment.revised':
        count(revisedSampleId(event.data.turnId, event.data.n), 'judged');
        break;
      case 'sample.ready':
        count(event.data.sampleId, 'ready');
        break;
      case 'sample.dropped':
        count(event.data.sampleId, 'dropped');
        this.#countReason(event.data.reason);
        break;
      case 'batch.submitted':
        for (const { sampleId } of event.data.samples) this.#entry(sampleId).batches.push(event.data.batchId);
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
    for (const [id, item] of this.#entries) {
      const turnId = turnOfSample(id);
      if (turnId !== id) {
        if (checkRevision(id, item, this.#entries.get(turnId), this.#violation))
          open['samples without a batch'] += 1;
        continue;
      }
      if (item.seen) counts.interactions += 1;
      if (item.live) counts['of these live'] += 1;
      checkEntry(id, item, this.#violation);
      if (!item.live || !item.seen) continue;
      if (item.batches.length > 0) counts['in a batch'] += 1;
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

/** A revised judgment makes one sample, or none. @returns whether the sample waits for a batch */
function checkRevision(
  id: string,
  item: Entry,
  turn: Entry | undefined,
  violation: ReportViolation,
): boolean {
  const { judged, ready, dropped, batches } = item;
  const turnId = turnOfSample(id);
  if ((turn?.judged ?? 0) === 0) violation(`${id} revises a judgment of ${turnId}, which has none`, 'turns');
  if (judged === 0) violation(`the sample ${id} has no judgment`, 'turns');
  if (judged > 1) violation(`${id} has ${judged} judgments`);
  if (ready > 1) violation(`${id} was ready ${ready} times`);
  if (batches.length + dropped > 1)
    violation(`${id} is in ${batches.length} batches and was dropped ${dropped} times`);
  if (ready === 0 && batches.length > 0) violation(`${id} is in a batch, but was never ready`, 'training');
  return ready > 0 && batches.length + dropped === 0;
}

function checkEntry(id: string, item: Entry, violation: ReportViolation): void {
  const { seen, live, judged, ready, dropped, completed } = item;
  const outcomes = item.skipped + completed;
  const inBatches = item.batches.length;
  if (!seen) violation(`${id} has an outcome, but its interaction is not in the log`, 'conversations');
  else if (!live && outcomes > 0) violation(`${id} asked for a pinned version, but made a turn`);
  else if (outcomes > 1) violation(`${id} has ${outcomes} outcomes`);
  if (completed === 0 && judged + ready > 0) violation(`${id} was judged, but never completed`, 'turns');
  if (completed === 0 && dropped > 0) violation(`${id} was dropped, but never completed`, 'turns');
  if (item.continued && completed === 0) violation(`${id} was continued, but never completed`, 'turns');
  if (judged > 1) violation(`${id} has ${judged} judgments`);
  if (ready === 0 && dropped > 1) violation(`${id} was dropped ${dropped} times`);
  if (ready > 1) violation(`${id} was ready ${ready} times`);
  if (ready > 0 && inBatches + dropped > 1)
    violation(`${id} is in ${inBatches} batches and was dropped ${dropped} times`);
  if (ready === 0 && inBatches > 0) violation(`${id} is in a batch, but was never ready`, 'training');
}

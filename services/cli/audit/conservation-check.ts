import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { revisedSampleId, turnOfSample } from '../../../shared/events/sample-id.ts';
import type { Audited, Tell } from './audited.ts';
import type { Owed } from './overdue.ts';

type Entry = {
  lane: string;
  /** ms since 1970: when its latest fact was appended */
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

/**
 * Facts that a fold emits in the commit that decided them: a second copy means that something was decided
 * twice.
 */
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
 * Every live interaction has one outcome, and every ready sample is in one batch or dropped. Feed it the
 * topics in the order of the loop.
 *
 * @param setAside whether a group could not read the record: its copy may stand later, put back
 */
export function createConservationCheck(tell: Tell, setAside: (record: Audited) => boolean) {
  const entries = new Map<string, Entry>();
  const emitted = new Map<string, { copies: number; aside: number }>();
  const reasons = new Map<string, number>();
  const entry = (id: string): Entry => {
    const fresh = { lane: '', since: 0, byReward: false, live: false, seen: false, ...nothing, batches: [] };
    const one = entries.get(id) ?? fresh;
    entries.set(id, one);
    return one;
  };
  const because = (reason: string) => reasons.set(reason, (reasons.get(reason) ?? 0) + 1);

  /** Whether a record is a copy of a fact that counts already. */
  const isCopy = (record: Audited): boolean => {
    const { event } = record;
    const tooLate = event.type === 'turn.skipped' && event.data.reason === 'too-late';
    if (!decidedOnce.has(event.type) || tooLate) return false;
    const name = `${event.type} ${event.id}`;
    // put back for a group that could not read the first one: here that can be read, and counts
    if (event.redrivenfor !== undefined && emitted.has(name)) return true;
    const stands = emitted.get(name) ?? { copies: 0, aside: 0 };
    stands.copies += 1;
    if (stands.copies > 1 + stands.aside) tell(`${name} stands ${stands.copies} times in the log`);
    const putBack = stands.copies > 1 && stands.aside > 0;
    if (setAside(record)) stands.aside += 1;
    emitted.set(name, stands);
    return putBack;
  };

  const on = (record: Audited): void => {
    if (isCopy(record)) return;
    const { event } = record;
    const count = (id: string, what: 'skipped' | 'completed' | 'judged' | 'ready' | 'dropped') => {
      const one = entry(id);
      one[what] += 1;
      one.since = record.time;
    };
    switch (event.type) {
      case 'interaction.completed': {
        const { interactionId, live, lane, settle } = event.data;
        const since = record.time;
        Object.assign(entry(interactionId), { seen: true, live, lane, since, byReward: settle === 'reward' });
        break;
      }
      case 'turn.skipped':
        if (event.data.reason === 'too-late') {
          entry(event.data.turnId).tooLate = true;
          break;
        }
        // its verdict was there before; what went on after it is lost
        if (event.data.reason === 'record-gone' && entry(event.data.turnId).completed > 0) break;
        count(event.data.turnId, 'skipped');
        because(event.data.reason);
        break;
      case 'turn.completed':
        count(event.data.turnId, 'completed');
        break;
      case 'judgment.reached':
        count(event.data.turnId, 'judged');
        break;
      case 'turn.continued':
        entry(event.data.turnId).continued = true;
        break;
      case 'judgment.revised':
        count(revisedSampleId(event.data.turnId, event.data.n), 'judged');
        break;
      case 'sample.ready':
        count(event.data.sampleId, 'ready');
        break;
      case 'sample.dropped':
        count(event.data.sampleId, 'dropped');
        because(event.data.reason);
        break;
      case 'batch.submitted':
        for (const { sampleId } of event.data.samples) entry(sampleId).batches.push(event.data.batchId);
        break;
    }
  };

  /** @param restsSince ms since 1970: the latest event of a lane. A session may wait while its lane is busy. */
  const report = (restsSince: (lane: string) => number) => {
    const counts = { interactions: 0, 'of these live': 0, 'in a batch': 0, 'not trained, with a reason': 0 };
    const open = {
      'interactions without an outcome': 0,
      'turns without a judgment': 0,
      'judgments without a sample': 0,
      'samples without a batch': 0,
    };
    const owed: Owed[] = [];
    for (const [id, one] of entries) {
      const turnId = turnOfSample(id);
      if (turnId !== id) {
        if (checkRevision(id, one, entries.get(turnId), tell)) open['samples without a batch'] += 1;
        continue;
      }
      if (one.seen) counts.interactions += 1;
      if (one.live) counts['of these live'] += 1;
      checkEntry(id, one, tell);
      if (!one.live || !one.seen) continue;
      if (one.batches.length > 0) counts['in a batch'] += 1;
      else if (one.skipped + one.dropped > 0) counts['not trained, with a reason'] += 1;
      else if (one.completed === 0 && one.tooLate) {
        counts['not trained, with a reason'] += 1;
        because('too-late');
      } else {
        const { what, waits } = stageOf(one);
        open[what] += 1;
        const since = waits ? restsSince(one.lane) : one.since;
        if (what !== 'samples without a batch') owed.push({ what: `${id} is among ${what}`, since });
      }
    }
    const named = [...reasons].sort().map(([reason, count]) => [`  ${reason}`, count]);
    return { counts: { ...counts, ...Object.fromEntries(named) }, open, owed };
  };
  return { on, report };
}

/** Where an open turn stands, and whether it waits for its session. */
function stageOf({ completed, judged, ready, byReward }: Entry) {
  if (completed === 0) return { what: 'interactions without an outcome', waits: true } as const;
  if (ready > 0) return { what: 'samples without a batch', waits: false } as const;
  if (judged > 0) return { what: 'judgments without a sample', waits: true } as const;
  return { what: 'turns without a judgment', waits: byReward } as const;
}

/** A revised judgment makes one sample, or is dropped. @returns whether the sample waits for a batch */
function checkRevision(id: string, one: Entry, turn: Entry | undefined, tell: Tell): boolean {
  const { judged, ready, dropped, batches } = one;
  const turnId = turnOfSample(id);
  if ((turn?.judged ?? 0) === 0) tell(`${id} revises the judgment of ${turnId}, which has none`, 'turns');
  if (judged === 0) tell(`the sample ${id} has no judgment`, 'turns');
  if (judged > 1) tell(`${id} has ${judged} judgments`);
  if (ready > 1) tell(`${id} was ready ${ready} times`);
  if (batches.length + dropped > 1)
    tell(`${id} is in ${batches.length} batches and was dropped ${dropped} times`);
  if (ready === 0 && batches.length > 0) tell(`${id} is in a batch, but was never ready`, 'training');
  return ready > 0 && batches.length + dropped === 0;
}

function checkEntry(id: string, one: Entry, tell: Tell): void {
  const { seen, live, judged, ready, dropped, completed } = one;
  const outcomes = one.skipped + completed;
  const inBatches = one.batches.length;
  if (!seen) tell(`${id} has an outcome but stands nowhere as an interaction`, 'conversations');
  else if (!live && outcomes > 0) tell(`${id} asked for a pinned version, and yet made a turn`);
  else if (outcomes > 1) tell(`${id} has ${outcomes} outcomes`);
  if (completed === 0 && judged + ready > 0) tell(`${id} was judged, but never completed`, 'turns');
  if (completed === 0 && dropped > 0) tell(`${id} was dropped, but never completed`, 'turns');
  if (one.continued && completed === 0) tell(`${id} went on, but was never completed`, 'turns');
  if (judged > 1) tell(`${id} has ${judged} judgments`);
  if (ready === 0 && dropped > 1) tell(`${id} was dropped ${dropped} times`);
  if (ready > 1) tell(`${id} was ready ${ready} times`);
  if (ready > 0 && inBatches + dropped > 1)
    tell(`${id} is in ${inBatches} batches and was dropped ${dropped} times`);
  if (ready === 0 && inBatches > 0) tell(`${id} is in a batch, but was never ready`, 'training');
}

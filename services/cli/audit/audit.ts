import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { createKeyCheck } from './key-check.ts';
import { createLineageCheck } from './lineage-check.ts';
import { createReturnsCheck } from './returns-check.ts';
import { createSettlementCheck } from './settlement-check.ts';

export type AuditReport = {
  readonly counts: Readonly<Record<string, number>>;
  /** What has no outcome yet, and may still get one. */
  readonly open: Readonly<Record<string, number>>;
  /** Sentences, each a law that the log breaks. */
  readonly broken: readonly string[];
};

type Entry = {
  live: boolean;
  seen: boolean;
  skipped: number;
  tooLate: boolean;
  completed: number;
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
  'turn.skipped',
  'turn.feedback',
  'session.closed',
  'judgment.reached',
  'sample.ready',
  'sample.dropped',
  'batch.submitted',
]);

/**
 * The conservation law, from the log alone: every live interaction has one outcome, every ready sample is in
 * one batch or dropped, every batch has one outcome, and at most one batch of an adapter is open at any point
 * of the log. With it the laws of lineage, of access keys and of feedback, each in a file beside this one.
 * Feed it the topics in the order of the loop.
 */
export function createAudit() {
  const entries = new Map<string, Entry>();
  const emitted = new Map<string, number>();
  const reasons = new Map<string, number>();
  const broken: string[] = [];
  const tell = (sentence: string) => void broken.push(sentence);
  const lineage = createLineageCheck(tell);
  const [keys, settlement] = [createKeyCheck(tell), createSettlementCheck(tell)];
  const returns = createReturnsCheck();
  const entry = (id: string): Entry => {
    const found = entries.get(id);
    if (found !== undefined) return found;
    const fresh = {
      live: false,
      seen: false,
      skipped: 0,
      tooLate: false,
      completed: 0,
      judged: 0,
      ready: 0,
      dropped: 0,
      batches: [],
    };
    entries.set(id, fresh);
    return fresh;
  };
  const because = (reason: string) => reasons.set(reason, (reasons.get(reason) ?? 0) + 1);

  const on = (event: ClawLoopEvent): void => {
    const name = `${event.type} ${event.id}`;
    // put back for a group that could not read the first one: here that can be read, and counts
    if (event.redrivenfor !== undefined && emitted.has(name)) return;
    const copies = (emitted.get(name) ?? 0) + 1;
    if (decidedOnce.has(event.type)) emitted.set(name, copies);
    const tooLate = event.type === 'turn.skipped' && event.data.reason === 'too-late';
    if (decidedOnce.has(event.type) && copies > 1 && !tooLate)
      broken.push(`${name} stands ${copies} times in the log`);
    switch (event.type) {
      case 'interaction.completed':
        Object.assign(entry(event.data.interactionId), { seen: true, live: event.data.live });
        break;
      case 'turn.skipped':
        if (tooLate) entry(event.data.turnId).tooLate = true;
        else {
          entry(event.data.turnId).skipped += 1;
          because(event.data.reason);
        }
        break;
      case 'turn.completed':
        entry(event.data.turnId).completed += 1;
        break;
      case 'judgment.reached':
        entry(event.data.turnId).judged += 1;
        break;
      case 'sample.ready':
        entry(event.data.sampleId).ready += 1;
        break;
      case 'sample.dropped':
        entry(event.data.sampleId).dropped += 1;
        because(event.data.reason);
        break;
      case 'batch.submitted':
        for (const { sampleId } of event.data.samples) entry(sampleId).batches.push(event.data.batchId);
        break;
    }
    lineage.on(event);
    keys(event);
    settlement(event);
    returns.on(event);
  };

  const report = (): AuditReport => {
    const counts = { interactions: 0, 'of these live': 0, 'in a batch': 0, 'not trained, with a reason': 0 };
    const open = {
      'interactions without an outcome': 0,
      'turns without a judgment': 0,
      'judgments without a sample': 0,
      'samples without a batch': 0,
    };
    const batches = lineage.report();
    const found = [...broken, ...batches.broken, ...returns.broken()];
    for (const [id, one] of entries) {
      if (one.seen) counts.interactions += 1;
      if (one.live) counts['of these live'] += 1;
      const outcomes = one.skipped + one.completed;
      if (!one.seen) found.push(`${id} has an outcome but stands nowhere as an interaction`);
      else if (!one.live && outcomes > 0) found.push(`${id} asked for a pinned version, and yet made a turn`);
      else if (outcomes > 1) found.push(`${id} has ${outcomes} outcomes`);
      if (one.completed === 0 && one.judged + one.ready > 0)
        found.push(`${id} was judged, but never completed`);
      if (one.judged > 1) found.push(`${id} has ${one.judged} judgments`);
      if (one.ready === 0 && one.dropped > 1) found.push(`${id} was dropped ${one.dropped} times`);
      if (one.ready > 1) found.push(`${id} was ready ${one.ready} times`);
      if (one.ready > 0 && one.batches.length + one.dropped > 1)
        found.push(`${id} is in ${one.batches.length} batches and was dropped ${one.dropped} times`);
      if (one.ready === 0 && one.batches.length > 0) found.push(`${id} is in a batch, but was never ready`);
      if (!one.live || !one.seen) continue;
      if (one.batches.length > 0) counts['in a batch'] += 1;
      else if (one.skipped + one.dropped > 0) counts['not trained, with a reason'] += 1;
      else if (outcomes === 0 && one.tooLate) {
        counts['not trained, with a reason'] += 1;
        because('too-late');
      } else if (outcomes === 0) open['interactions without an outcome'] += 1;
      else if (one.ready > 0) open['samples without a batch'] += 1;
      else if (one.judged > 0)
        open['judgments without a sample'] += 1; // until their session has one, or closes
      else open['turns without a judgment'] += 1;
    }
    return {
      counts: {
        ...counts,
        ...Object.fromEntries([...reasons].sort().map(([reason, count]) => [`  ${reason}`, count])),
        ...batches.counts,
      },
      open: { ...open, ...batches.open },
      broken: found,
    };
  };
  return { on, report };
}

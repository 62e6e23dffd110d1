import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';

type Entry = {
  /** records of the interaction: an append whose reply was lost may be repeated */
  records: number;
  live: boolean;
  text: string;
  finishReason: string;
  completed: number;
  skipped: number;
  /** arrived a day behind its lane: a separate outcome, which may exist beside another */
  tooLate: boolean;
  judged: number;
  ready: number;
  dropped: number;
  batches: string[];
};

const nothing: Entry = {
  records: 0,
  live: false,
  text: '',
  finishReason: '',
  completed: 0,
  skipped: 0,
  tooLate: false,
  judged: 0,
  ready: 0,
  dropped: 0,
  batches: [],
};

export type Ledger = ReturnType<typeof createLedger>;

/**
 * The outcome of each interaction, counted directly from the log, for comparison with the crowd's record. Shares no
 * code with `clawloop audit`.
 */
export function createLedger() {
  const entries = new Map<string, Entry>();
  const openBatches = new Set<string>();
  const feedbackOn = new Set<string>();
  const endedSessions = new Set<string>();
  const promoted: number[] = [];
  let head = 0;
  let served = 0;
  const onCanary = new Set<string>();
  let canaries = 0;
  const entry = (id: string): Entry => {
    const found = entries.get(id) ?? { ...nothing, batches: [] };
    entries.set(id, found);
    return found;
  };

  const on = ({ type, data }: ClawLoopEvent): void => {
    switch (type) {
      case 'interaction.completed': {
        const { live, answer, finishReason } = data;
        const one = entry(data.interactionId);
        one.records += 1;
        Object.assign(one, { live, finishReason, text: answer.content ?? '' });
        break;
      }
      case 'feedback.given':
        feedbackOn.add(data.interactionId);
        break;
      case 'session.ended':
        endedSessions.add(data.session);
        break;
      case 'turn.completed':
        entry(data.turnId).completed += 1;
        break;
      case 'turn.skipped':
        if (data.reason === 'too-late') entry(data.turnId).tooLate = true;
        else entry(data.turnId).skipped += 1;
        break;
      case 'judgment.reached':
        entry(data.turnId).judged += 1;
        break;
      case 'sample.ready':
        entry(data.sampleId).ready += 1;
        break;
      case 'sample.dropped':
        entry(data.sampleId).dropped += 1;
        break;
      case 'batch.submitted':
        openBatches.add(data.batchId);
        for (const { sampleId } of data.samples) entry(sampleId).batches.push(data.batchId);
        break;
      case 'policy.canary-started':
        onCanary.add(data.batchId);
        break;
      case 'policy.promoted':
        canaries += Number(onCanary.delete(data.batchId));
        if (openBatches.has(data.batchId)) promoted.push(data.to);
        head = data.to;
        openBatches.delete(data.batchId);
        break;
      case 'policy.rejected':
      case 'policy.update-failed':
        canaries += Number(onCanary.delete(data.batchId));
        openBatches.delete(data.batchId);
        break;
      case 'policy.loaded':
        served = data.version;
        break;
    }
  };

  /** What is not settled yet; empty: everything is settled. */
  const open = (): readonly string[] => {
    const count = (what: string, isOpen: (one: Entry) => boolean) => {
      const found = [...entries.values()].filter((one) => one.live && isOpen(one)).length;
      return found === 0 ? [] : [`${found} ${what}`];
    };
    return [
      ...count(
        'interactions without an outcome',
        ({ completed, skipped, tooLate }) => completed + skipped === 0 && !tooLate,
      ),
      ...count('turns without a judgment', ({ completed, judged }) => completed > 0 && judged === 0),
      ...count(
        'judged turns without an end',
        ({ judged, batches, dropped }) => judged > 0 && batches.length + dropped === 0,
      ),
      ...(openBatches.size === 0 ? [] : [`${openBatches.size} batches`]),
      ...(served === head ? [] : [`v${head} is not served`]),
    ];
  };

  return {
    on,
    open,
    entries: entries as ReadonlyMap<string, Readonly<Entry>>,
    feedbackOn: feedbackOn as ReadonlySet<string>,
    endedSessions: endedSessions as ReadonlySet<string>,
    openBatches: (): number => openBatches.size,
    promoted: (): readonly number[] => promoted,
    /** decided canaries */
    canaries: (): number => canaries,
  };
}

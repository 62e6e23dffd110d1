import type { CrowdRecord } from './crowd-record.ts';
import type { Ledger } from './ledger.ts';

export type Comparison = {
  /** Answers, feedback and ends of sessions that were confirmed to a client but are not in the log. */
  readonly lost: readonly string[];
  /** Duplicates: two outcomes, two judgments, two batches. */
  readonly doubled: readonly string[];
  /** Answers whose text in the log differs from the client's copy. */
  readonly changed: readonly string[];
  /** Answers that were marked as not recorded. */
  readonly unrecorded: number;
  /** Records of an interaction beyond its first: serving appends again if the reply to an append is lost. */
  readonly repeatedRecords: number;
};

/** Compares the crowd's record with the log. */
export function compare(
  { given, feedback, ended }: CrowdRecord,
  { entries, feedbackOn, endedSessions }: Pick<Ledger, 'entries' | 'feedbackOn' | 'endedSessions'>,
): Comparison {
  const recorded = given.filter(({ isRecorded }) => isRecorded);
  const ids = new Set<string>();
  const repeated = given.filter(({ id }) => ids.size === ids.add(id).size);
  return {
    lost: [
      ...recorded.filter(({ id }) => !entries.get(id)?.records).map(({ id }) => `answer ${id}`),
      ...feedback.filter((id) => !feedbackOn.has(id)).map((id) => `feedback on ${id}`),
      ...ended.filter((session) => !endedSessions.has(session)).map((session) => `end of ${session}`),
    ],
    doubled: [
      ...repeated.map(({ id }) => `${id} was given twice`),
      ...[...entries].flatMap(([id, { completed, skipped, judged, ready, dropped, batches }]) => {
        const counts = {
          outcomes: completed + skipped,
          judgments: judged,
          samples: ready,
          ends: dropped + batches.length,
        };
        return Object.entries(counts).flatMap(([what, count]) =>
          count > 1 ? [`${id} has ${count} ${what}`] : [],
        );
      }),
    ],
    changed: recorded.flatMap(({ id, text, finishReason }) => {
      const entry = entries.get(id);
      const isSame = entry === undefined || (entry.text === text && entry.finishReason === finishReason);
      return isSame ? [] : [`${id}: ${JSON.stringify(text)}, in the log ${JSON.stringify(entry.text)}`];
    }),
    unrecorded: given.length - recorded.length,
    repeatedRecords: [...entries.values()].reduce((sum, { records }) => sum + Math.max(0, records - 1), 0),
  };
}

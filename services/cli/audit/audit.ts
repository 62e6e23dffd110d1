import type { Topic } from '../../../shared/events/define-event.ts';
import { isFor } from '../../../shared/log/fold-chunk.ts';
import type { Audited, Folded, Folds, Tell } from './audited.ts';
import { createBatchCheck } from './batch-check.ts';
import { createConservationCheck } from './conservation-check.ts';
import { createContentCheck } from './content-check.ts';
import { openConversationBook } from './conversation-book.ts';
import { createFeedbackCheck } from './feedback-check.ts';
import { createJudgmentCheck } from './judgment-check.ts';
import { createKeyCheck } from './key-check.ts';
import { createLineageCheck } from './lineage-check.ts';
import { createNameCheck } from './name-check.ts';
import { createOutcomeCheck } from './outcome-check.ts';
import { createBacklog, type Owed } from './overdue.ts';
import { createProgressCheck } from './progress-check.ts';
import { createReturnsCheck } from './returns-check.ts';
import { createSessionCheck } from './session-check.ts';
import { createSettlementCheck } from './settlement-check.ts';

export type AuditReport = {
  readonly counts: Readonly<Record<string, number>>;
  /** What has no outcome yet, and may still get one. */
  readonly open: Readonly<Record<string, number>>;
  /** Sentences, each a law that the log breaks. */
  readonly broken: readonly string[];
  /** References to records that were trimmed: of them the audit cannot tell. */
  readonly uncovered: number;
  /** What is open, the oldest first. */
  readonly owed: readonly Owed[];
};

export type AuditOptions = {
  /** Whether a group has folded a record; all have folded all unless told. */
  readonly folded?: Folded;
  /** Whether a group folds a record, now or later; all fold all unless told. */
  readonly folds?: Folds;
  /** Whether a group could not read a record and passed it over: its copy may stand later, put back. */
  readonly setAside?: (record: Audited) => boolean;
  /** Topics whose first records were trimmed. */
  readonly trimmed?: ReadonlySet<Topic>;
};

/**
 * The conservation law, from the log alone: every live interaction has one outcome, every ready sample is in
 * one batch or dropped, every batch has one outcome, and at most one batch of an adapter is open at any point
 * of the log. With it the laws of contents, outcomes, sessions, judgments, batches, lineage, access keys and
 * feedback, each in a file beside this one. Feed it the topics in the order of the loop. It keeps digests, and
 * no bodies.
 */
export function createAudit(options: AuditOptions = {}) {
  const { setAside = () => false, trimmed = new Set() } = options;
  /** A record that was put back counts for the groups that it was put back for. */
  const folded: Folded = (group, record) =>
    isFor(group, record.event) && (options.folded?.(group, record) ?? true);
  const folds: Folds = (group, record) =>
    isFor(group, record.event) && (options.folds?.(group, record) ?? true);
  const broken: string[] = [];
  let uncovered = 0;
  const tell: Tell = (sentence, missingFrom) => {
    if (missingFrom !== undefined && trimmed.has(missingFrom)) uncovered += 1;
    else broken.push(sentence);
  };
  const book = openConversationBook(folded);
  const conservation = createConservationCheck(tell, setAside);
  const outcomes = createOutcomeCheck(tell, book);
  const sessions = createSessionCheck(tell, book);
  const feedback = createFeedbackCheck(tell, book);
  const progress = createProgressCheck(tell, folded);
  const batches = createBatchCheck(tell, folds);
  const lineage = createLineageCheck(tell);
  const returns = createReturnsCheck(tell);
  const backlog = createBacklog(folded);
  const checks = [
    ...[book.write, createNameCheck(tell), createContentCheck(tell), createJudgmentCheck(tell, folds)],
    ...[
      conservation.on,
      outcomes.on,
      sessions.on,
      feedback.on,
      progress.on,
      batches.on,
      lineage.on,
      backlog.on,
    ],
  ];
  const ofEvents = [createKeyCheck(tell), createSettlementCheck(tell), returns.on];

  const on = (record: Audited): void => {
    for (const check of checks) check(record);
    for (const check of ofEvents) check(record.event);
  };

  /** Once, when every record was fed. */
  const report = (): AuditReport => {
    for (const { finish } of [outcomes, sessions, progress, batches, returns]) finish();
    const unmatched = feedback.finish();
    const { counts, open, owed } = conservation.report(book.restsSince);
    const ofBatches = lineage.report();
    return {
      counts: {
        ...counts,
        ...ofBatches.counts,
        ...(unmatched === 0 ? {} : { 'feedback on no known answer': unmatched }),
      },
      open: { ...open, ...ofBatches.open },
      broken,
      uncovered,
      owed: [...owed, ...backlog.owed(), ...ofBatches.owed].sort((a, b) => a.since - b.since),
    };
  };
  return { on, report };
}

import type { Topic } from '../../../shared/events/define-event.ts';
import type { WordsErased } from '../../../shared/events/words-erased.ts';
import { isFor } from '../../../shared/log/fold-chunk.ts';
import type { Audited, Folded, Folds, ReportViolation } from './audited.ts';
import { BatchCheck } from './batch-check.ts';
import { openBooks } from './books/books.ts';
import { ConservationCheck } from './conservation-check.ts';
import { ContentCheck } from './content-check.ts';
import { openConversationBook } from './conversation-book.ts';
import { createErasureCheck } from './erasure-check.ts';
import { FeedbackCheck } from './feedback-check.ts';
import { JudgmentCheck } from './judgment-check.ts';
import { createKeyCheck } from './key-check.ts';
import { createLeaseCheck } from './lease-check.ts';
import { LineageCheck } from './lineage-check.ts';
import { createNameCheck } from './name-check.ts';
import { OutcomeCheck } from './outcome-check.ts';
import { createBacklog, type Owed } from './overdue.ts';
import { createProgressCheck } from './progress-check.ts';
import { createReturnsCheck } from './returns-check.ts';
import { SessionCheck } from './session-check.ts';
import { createSettlementCheck } from './settlement-check.ts';
import { createStepCheck } from './step-check.ts';
import { createVerdictCheck } from './verdict-check.ts';

export type AuditReport = {
  readonly counts: Readonly<Record<string, number>>;
  /** Items without an outcome that may still get one. */
  readonly open: Readonly<Record<string, number>>;
  /** Violations, one sentence each. */
  readonly broken: readonly string[];
  /** References to trimmed records, which the audit cannot check. */
  readonly uncovered: number;
  /** Open items, oldest first. */
  readonly owed: readonly Owed[];
};

export type AuditOptions = {
  /** Whether a group has folded a record; by default, always. */
  readonly folded?: Folded;
  /** Whether a group folds a record, now or later; by default, always. */
  readonly folds?: Folds;
  /** Whether a group rejected a record: a copy may follow, put back by a redrive. */
  readonly setAside?: (record: Audited) => boolean;
  /** Topics whose first records were trimmed. */
  readonly trimmed?: ReadonlySet<Topic>;
  /** What was erased from the log. */
  readonly erasures?: readonly WordsErased[];
};

/**
 * Checks the conservation law from the log alone: every live interaction has one outcome, every ready sample is
 * in one batch or dropped, every batch has one outcome, and an adapter has at most one open batch at a time.
 * The files beside this one check contents, outcomes, sessions, judgments, batches, lineage, access keys and
 * feedback. Feed it the topics in the order of the loop. It keeps digests, not bodies.
 */
export function createAudit(options: AuditOptions = {}) {
  const { setAside = () => false, trimmed = new Set() } = options;
  /** A record that was put back counts only for the groups that it was put back for. */
  const folded: Folded = (group, record) =>
    isFor(group, record.event) && (options.folded?.(group, record) ?? true);
  const folds: Folds = (group, record) =>
    isFor(group, record.event) && (options.folds?.(group, record) ?? true);
  const broken: string[] = [];
  let uncovered = 0;
  const violation: ReportViolation = (sentence, missingFrom) => {
    if (missingFrom !== undefined && trimmed.has(missingFrom)) uncovered += 1;
    else broken.push(sentence);
  };
  const books = openBooks();
  const book = openConversationBook(folded, books);
  const conservation = new ConservationCheck(violation, setAside, books);
  const outcomes = new OutcomeCheck(violation, book, books);
  const sessions = new SessionCheck(violation, book, books);
  const feedback = new FeedbackCheck(violation, book, books);
  const progress = createProgressCheck(violation, folded, books);
  const batches = new BatchCheck(violation, folds, books);
  const lineage = new LineageCheck(violation, books);
  const returns = createReturnsCheck(violation);
  const leases = createLeaseCheck(violation);
  const verdicts = createVerdictCheck(violation, books);
  const backlog = createBacklog(folded);
  const checks = [
    book.write,
    createNameCheck(violation),
    createErasureCheck(violation, options.erasures ?? []),
    new ContentCheck(violation, books).on,
    new JudgmentCheck(violation, folds, books).on,
    createStepCheck(violation, folds, books),
    conservation.on,
    outcomes.on,
    sessions.on,
    feedback.on,
    progress.on,
    batches.on,
    lineage.on,
    leases.on,
    verdicts.on,
    backlog.on,
  ];
  const eventChecks = [createKeyCheck(violation, books), createSettlementCheck(violation, books), returns.on];

  const on = (record: Audited): void => {
    for (const check of checks) check(record);
    for (const check of eventChecks) check(record.event);
  };

  /** Call once, after the last record. `wholeSince`: append time from which on no record was trimmed, ms since 1970. */
  const report = (wholeSince = Number.NEGATIVE_INFINITY): AuditReport => {
    for (const check of [outcomes, sessions, progress, batches, returns, verdicts]) check.finish();
    const unmatched = feedback.finish();
    const { counts, open, owed, ...older } = conservation.report(book.restsSince, wholeSince);
    const batchReport = lineage.report();
    const environments = leases.report();
    return {
      counts: {
        ...counts,
        ...batchReport.counts,
        ...counted({
          'feedback on unknown answers': unmatched,
          'automatic rollbacks': verdicts.rollbacks(),
          'environments leased': environments.leased,
          'environments that rated an attempt': environments.evaluated,
          'environments released by expiry': environments.expired,
        }),
      },
      open: { ...open, ...batchReport.open, ...counted({ 'environments in use': environments.open }) },
      broken,
      uncovered: uncovered + older.uncovered,
      owed: [...owed, ...backlog.owed(), ...batchReport.owed, ...environments.owed].sort(
        (a, b) => a.since - b.since,
      ),
    };
  };
  return { on, report };
}

/** Counts that most logs lack are shown only where there are any. */
const counted = (counts: Readonly<Record<string, number>>): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));

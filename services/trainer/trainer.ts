import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { LeftoverLimit } from '../../shared/lang/leftovers.ts';
import { type HeadView, lineage } from '../../shared/lineage/head.ts';
import { headView } from '../../shared/lineage/head-rows.ts';
import type { EventLog, SubjectView } from '../../shared/log/event-log.ts';
import { openDraft, type Rows } from '../../shared/log/rows.ts';
import type { CheckpointStore } from '../../shared/policy/checkpoints/checkpoint-store.ts';
import type { Retention } from '../../shared/policy/checkpoints/prune.ts';
import { isStoreUnavailable } from '../../shared/policy/checkpoints/store-unavailable.ts';
import type { Job } from '../../shared/queue/job-queue.ts';
import { monotonicNow } from '../../shared/runtime/clock.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import { createWaitNotice, type WaitNotice } from '../../shared/runtime/wait-notice.ts';
import type { BatchWait } from './batch-wait.ts';
import type { TrainerMetrics } from './metrics.ts';
import { type Outcome, outcomeName } from './outcome.ts';
import { progressReport } from './progress-report.ts';
import { isServerWait } from './remote/server-wait.ts';
import type { RunStep, StepRunner } from './step-runner.ts';
import { isCancelled, type Training, trainOpenBatch } from './train-open-batch.ts';

/** ms after which old checkpoints are removed also without a new outcome: what was set aside ages by itself */
const PRUNE_MS = 6 * 3_600_000;

/** A job only says: check which batch of this adapter is open. */
export type WakeUp = { readonly adapter: string };

type Options = {
  readonly log: Pick<EventLog, 'append' | 'read' | 'logId'>;
  readonly runner: Pick<StepRunner, 'run' | 'refusal' | 'removeState'>;
  readonly base: Training['base'];
  readonly findModel: Training['findModel'];
  readonly storeOf: (adapter: string) => CheckpointStore;
  readonly metrics: TrainerMetrics;
  readonly logger: Logger;
  readonly keep: number;
  /** of checkpoints that were set aside */
  readonly aside: LeftoverLimit;
  readonly maxStrikes: number;
  /** notified of the open batches */
  readonly wait?: Pick<BatchWait, 'see'>;
};

/** Tracks the open batches from the fold's committed rows, and trains one when a job wakes it up. */
export function createTrainer(options: Options) {
  const { metrics, logger } = options;
  const openBatches = new Map<string, BatchSubmitted['data']>();
  /** the open batch's parent according to the log, by adapter */
  const parents = new Map<string, Pick<Training, 'parent' | 'holdsVersions'>>();
  const heads = new Map<string, number>();
  const stores = watchAbsences(logger);
  /** when old checkpoints of an adapter were removed last, in monotonic ms */
  const prunedAdapters = new Map<string, number>();
  /** batches whose outcome this process has appended and the fold has not read yet */
  const endedBatches = new Set<string>();

  const owed = (subjects: readonly SubjectView[]): readonly Job<WakeUp>[] => {
    const jobs: Job<WakeUp>[] = [];
    for (const { subject, rows } of subjects) {
      const view = headView(openDraft(rows));
      const { head } = view;
      // while its candidate is on canary, the batch owes no step
      const onCanary = view.canary?.batchId;
      const batch = view.open?.batchId === onCanary ? null : view.open;
      heads.set(subject, head);
      metrics.head.set({ adapter: subject }, head);
      const before = openBatches.get(subject);
      options.wait?.see(subject, batch);
      if (batch === null) {
        openBatches.delete(subject);
        stores.back(subject);
      } else {
        openBatches.set(subject, batch);
        const holdsVersions = hasPromoted(rows);
        parents.set(subject, { parent: promotedCheckpoint(view, batch.parent), holdsVersions });
      }
      const settled = before !== undefined && before.batchId !== batch?.batchId;
      if (settled) endedBatches.delete(before.batchId);
      if (settled || monotonicNow() - (prunedAdapters.get(subject) ?? -PRUNE_MS) >= PRUNE_MS) {
        const retention = {
          lineage: lineage(view, head),
          openParent: view.open?.parent,
          settled: view.open === null ? view.n : view.n - 1,
        };
        prunedAdapters.set(subject, monotonicNow());
        void removeAside(options, subject).then(() => removeOldCheckpoints(options, subject, retention));
      }
      if (batch !== null && !endedBatches.has(batch.batchId))
        jobs.push({ id: batch.batchId, data: { adapter: subject } });
    }
    return jobs;
  };

  const wakeUp = async ({ adapter }: WakeUp, signal: AbortSignal): Promise<void> => {
    const batch = openBatches.get(adapter);
    if (batch === undefined || endedBatches.has(batch.batchId)) return;
    const store = options.storeOf(adapter);
    const { batchId, n, parent } = batch;
    logger.info({ batch: batchId, version: n, parent, samples: batch.samples.length }, 'training started');
    metrics.progress.set({ adapter }, 0);
    const training: Training = {
      ...options,
      store,
      parent: parents.get(adapter)?.parent,
      holdsVersions: parents.get(adapter)?.holdsVersions ?? false,
      isParentHead: () => heads.get(adapter) === parent,
      onProgress: createProgressListener(options, batch),
      onStep: (step) => countStep(metrics, batch, step),
    };
    try {
      const outcome = await trainOpenBatch(training, batch, signal);
      stores.back(adapter);
      if (openBatches.get(adapter)?.batchId === batchId) endedBatches.add(batchId);
      reportOutcome(options, batch, outcome);
    } catch (error) {
      if (isStoreUnavailable(error) || (isServerWait(error) && !isCancelled(signal))) {
        stores.away(adapter, { reason: error.message, store: isStoreUnavailable(error) });
        throw error;
      }
      stores.back(adapter);
      if (isCancelled(signal)) logger.info({ batch: batchId }, 'training step cancelled');
      else logger.error({ err: error, batch: batchId }, 'training attempt failed; will retry');
      throw error;
    } finally {
      metrics.progress.remove({ adapter });
    }
  };

  return { owed, wakeUp, openBatches: () => openBatches.size, missing: stores.missing };
}

type Removal = Pick<Options, 'storeOf' | 'keep' | 'aside' | 'logger' | 'runner'>;

/** Before the old checkpoints, so that the objects of a bucket go at once. */
async function removeAside({ storeOf, aside, logger, runner }: Removal, adapter: string): Promise<void> {
  try {
    const gone = await storeOf(adapter).removeAside(aside, (paths) => removeStates(runner, paths));
    for (const { path, bytes, reason } of gone)
      logger.info({ adapter, path, bytes, reason }, 'removed a checkpoint that was set aside');
  } catch (error) {
    logger.warn({ err: error, adapter }, 'could not remove checkpoints that were set aside; will retry');
  }
}

async function removeOldCheckpoints(
  { storeOf, keep, logger, runner }: Removal,
  adapter: string,
  retention: Omit<Retention, 'keep'>,
): Promise<void> {
  try {
    const gone = await storeOf(adapter).prune({ keep, ...retention }, async ({ released, notes }) => {
      const ofVersions = released.flatMap(({ state: { optimizer } }) => optimizer?.path ?? []);
      await removeStates(runner, [...ofVersions, ...notes]);
    });
    if (gone.length > 0) logger.info({ adapter, gone }, 'old checkpoints removed');
  } catch (error) {
    logger.warn({ err: error, adapter }, 'could not remove old checkpoints; will retry after the next batch');
  }
}

/** On a training server. */
async function removeStates(runner: Options['runner'], paths: readonly string[]): Promise<void> {
  for (const path of paths) await runner.removeState?.(path);
}

function createProgressListener(
  { metrics, logger }: Pick<Options, 'metrics' | 'logger'>,
  { batchId, adapter }: BatchSubmitted['data'],
): Training['onProgress'] {
  const report = progressReport(
    (progress) => logger.info({ batch: batchId, ...progress }, 'step'),
    monotonicNow,
  );
  return (progress) => {
    const { phase, samples, of } = progress;
    if (phase === 'training') metrics.progress.set({ adapter }, samples / of);
    report(progress);
  };
}

function reportOutcome(
  { metrics, logger }: Pick<Options, 'metrics' | 'logger'>,
  { batchId, n, adapter }: BatchSubmitted['data'],
  outcome: Outcome,
): void {
  const name = outcomeName(outcome);
  metrics.outcomes.inc({ outcome: name, adapter });
  const { kind, ...detail } =
    outcome.kind === 'trained' ? { kind: outcome.kind, ...outcome.state.metrics } : outcome;
  logger.info({ batch: batchId, version: n, outcome: name, kind, ...detail }, 'batch finished');
}

const hasPromoted = (rows: Rows): boolean => {
  for (const _ of rows.entries('version/')) return true;
  return false;
};

/** The checkpoint of a promoted version; undefined for the base, which has none. */
function promotedCheckpoint({ version }: Pick<HeadView, 'version'>, number: number): Training['parent'] {
  const { checkpoint = null, digest = null } = version(number) ?? {};
  return checkpoint === null || digest === null ? undefined : { checkpoint, digest };
}

function countStep(
  metrics: TrainerMetrics,
  { n, adapter }: BatchSubmitted['data'],
  { result, milliseconds, tensors }: RunStep,
): void {
  metrics.stepSeconds.observe(milliseconds / 1000);
  metrics.tensors.set(tensors);
  if (result.kind !== 'candidate') return;
  metrics.version.set({ adapter }, n);
  metrics.tokensPerSecond.set((result.metrics.tokens ?? 0) / (milliseconds / 1000));
  for (const [figure, value] of Object.entries(result.metrics))
    metrics.lastStep.set({ figure, adapter }, value);
}

/** What an adapter waits for. */
type Absence = {
  readonly reason: string;
  /** its checkpoints; otherwise the training server */
  readonly store: boolean;
};

/** Tracks the adapters that wait for their checkpoints or for the training server, for the log and for readiness. */
function watchAbsences(logger: Logger) {
  const absences = new Map<string, Absence>();
  const notices = new Map<string, WaitNotice>();
  const nameOf = ({ store }: Absence) => (store ? 'the checkpoints' : 'the training server');
  const noticeOf = (adapter: string, what: string): WaitNotice => {
    const known = notices.get(adapter);
    if (known !== undefined) return known;
    const notice = createWaitNotice({
      away: (reason, seconds) => logger.warn({ adapter, reason, seconds }, `waiting for ${what}`),
      back: (seconds) => logger.info({ adapter, seconds }, `the wait for ${what} is over`),
    });
    notices.set(adapter, notice);
    return notice;
  };
  return {
    away: (adapter: string, absence: Absence): void => {
      absences.set(adapter, absence);
      noticeOf(adapter, nameOf(absence)).away(absence.reason);
    },
    back: (adapter: string): void => {
      const absence = absences.get(adapter);
      if (absence === undefined) return;
      absences.delete(adapter);
      noticeOf(adapter, nameOf(absence)).back();
      notices.delete(adapter);
    },
    /** why a batch cannot be trained now */
    missing: (): string | undefined => {
      const [first] = absences;
      return first && `waiting for ${nameOf(first[1])} of ${first[0]}: ${first[1].reason}`;
    },
  };
}

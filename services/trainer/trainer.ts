import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import { type HeadView, lineage } from '../../shared/lineage/head.ts';
import { headView } from '../../shared/lineage/head-rows.ts';
import type { EventLog, SubjectView } from '../../shared/log/event-log.ts';
import { openDraft, type Rows } from '../../shared/log/rows.ts';
import { pruneCheckpoints } from '../../shared/policy/checkpoint-store-prune.ts';
import type { Job } from '../../shared/queue/job-queue.ts';
import { monotonicNow } from '../../shared/service/clock.ts';
import type { Logger } from '../../shared/service/logger.ts';
import type { BatchWait } from './batch-wait.ts';
import type { TrainerMetrics } from './metrics.ts';
import { outcomeName } from './outcome.ts';
import { progressReport } from './progress-report.ts';
import type { RunStep, StepRunner } from './step-runner.ts';
import { isStoreAway } from './store-away.ts';
import { isCalledOff, type Training, trainOpenBatch } from './train-open-batch.ts';
import { watchStores } from './watch-stores.ts';

/** A job says no more than this: look what is open. */
export type WakeUp = { readonly adapter: string };

type Options = {
  readonly log: Pick<EventLog, 'append' | 'read' | 'logId'>;
  readonly runner: Pick<StepRunner, 'run'>;
  readonly base: Training['base'];
  readonly findModel: Training['findModel'];
  readonly storeOf: (adapter: string) => string;
  readonly metrics: TrainerMetrics;
  readonly logger: Logger;
  readonly keep: number;
  readonly maxStrikes: number;
  /** told which batches are open */
  readonly wait?: Pick<BatchWait, 'see'>;
};

/** What is open, from the fold's committed rows, and how a wake-up ends it. */
export function createTrainer(options: Options) {
  const { metrics, logger, keep } = options;
  const open = new Map<string, BatchSubmitted['data']>();
  /** by adapter: what the log says of the open batch's parent */
  const parents = new Map<string, Pick<Training, 'parent' | 'holdsVersions'>>();
  const heads = new Map<string, number>();
  const stores = watchStores(logger);
  const seen = new Set<string>();
  /** Ends that this process has written and the fold has not read yet: they need no second telling. */
  const told = new Set<string>();

  const prune = async (adapter: string, versions: readonly number[]): Promise<void> => {
    try {
      const retention = { keep, lineage: versions, openParent: open.get(adapter)?.parent };
      const gone = await pruneCheckpoints(options.storeOf(adapter), retention);
      if (gone.length > 0) logger.info({ adapter, gone }, 'old checkpoints removed');
    } catch (error) {
      logger.warn({ err: error, adapter }, 'old checkpoints could not be removed');
    }
  };

  const owed = (subjects: readonly SubjectView[]): readonly Job<WakeUp>[] => {
    const jobs: Job<WakeUp>[] = [];
    for (const { subject, rows } of subjects) {
      const view = headView(openDraft(rows));
      const { head, open: batch } = view;
      heads.set(subject, head);
      metrics.head.set({ adapter: subject }, head);
      const before = open.get(subject);
      options.wait?.see(subject, batch);
      if (batch === null) {
        open.delete(subject);
        stores.back(subject);
      } else {
        open.set(subject, batch);
        const holdsVersions = hasPromoted(rows);
        parents.set(subject, { parent: promotedAs(view, batch.parent), holdsVersions });
      }
      const settled = before !== undefined && before.batchId !== batch?.batchId;
      if (settled) told.delete(before.batchId);
      if (settled || !seen.has(subject)) void prune(subject, lineage(view, head));
      seen.add(subject);
      if (batch !== null && !told.has(batch.batchId))
        jobs.push({ id: batch.batchId, data: { adapter: subject } });
    }
    return jobs;
  };

  const wakeUp = async ({ adapter }: WakeUp, signal: AbortSignal): Promise<void> => {
    const batch = open.get(adapter);
    if (batch === undefined || told.has(batch.batchId)) return;
    const store = options.storeOf(adapter);
    const { batchId, n, parent } = batch;
    logger.info({ batch: batchId, version: n, parent, samples: batch.samples.length }, 'training');
    const report = progressReport(
      (progress) => logger.info({ batch: batchId, ...progress }, 'step'),
      monotonicNow,
    );
    const training: Training = {
      ...options,
      store,
      parent: parents.get(adapter)?.parent,
      holdsVersions: parents.get(adapter)?.holdsVersions ?? false,
      isParentHead: () => heads.get(adapter) === parent,
      onProgress: (progress) => {
        if (progress.phase === 'training') metrics.progress.set(progress.samples / progress.of);
        report(progress);
      },
      onStep: (step) => countStep(metrics, batch, step),
    };
    try {
      const outcome = await trainOpenBatch(training, batch, signal);
      stores.back(adapter);
      if (open.get(adapter)?.batchId === batchId) told.add(batchId);
      metrics.outcomes.inc({ outcome: outcomeName(outcome), adapter });
      const { kind, ...detail } =
        outcome.kind === 'trained' ? { kind: outcome.kind, ...outcome.state.metrics } : outcome;
      logger.info(
        { batch: batchId, version: n, outcome: outcomeName(outcome), kind, ...detail },
        'batch ended',
      );
    } catch (error) {
      if (isStoreAway(error)) {
        stores.away(adapter, error.message);
        throw error;
      }
      stores.back(adapter);
      if (isCalledOff(signal)) logger.info({ batch: batchId }, 'the step was called off');
      else logger.error({ err: error, batch: batchId }, 'an attempt failed');
      throw error;
    } finally {
      metrics.progress.set(0);
    }
  };

  return { owed, wakeUp, openBatches: () => open.size, missing: stores.missing };
}

const hasPromoted = (rows: Rows): boolean => {
  for (const _ of rows.entries('version/')) return true;
  return false;
};

/** The base has no checkpoint. */
function promotedAs({ version }: Pick<HeadView, 'version'>, number: number): Training['parent'] {
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

import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { StepProgress } from './step-progress.ts';

export type LoopStatus = {
  readonly interactions: number;
  readonly turns: number;
  readonly skipped: number;
  readonly verdicts: number;
  readonly good: number;
  readonly bad: number;
  readonly eligible: number;
  readonly training: boolean;
  /** of the running step, once it has said something */
  readonly progress: StepProgress | undefined;
  readonly paused: boolean;
  readonly served: number;
};

/**
 * The counters of the live line, folded from all topics. Counts ids, so that a copy in the log counts once.
 */
export function createStatus(adapter: string) {
  const interactions = new Set<string>();
  const turns = new Set<string>();
  const skipped = new Set<string>();
  const verdicts = new Map<string, number>();
  const eligible = new Set<string>();
  const settled = new Set<string>();
  let openBatch: string | undefined;
  let progress: StepProgress | undefined;
  let paused = false;
  let served = 0;
  const on = (event: ClawLoopEvent): void => {
    if (event.type === 'interaction.completed' && event.data.live) interactions.add(event.id);
    if (event.type === 'turn.completed') turns.add(event.data.turnId);
    if (event.type === 'turn.skipped') skipped.add(event.data.turnId);
    if (event.type === 'judgment.reached' && !verdicts.has(event.data.turnId))
      verdicts.set(event.data.turnId, event.data.score ?? 0);
    if (event.subject !== adapter) return;
    if (event.type === 'sample.ready' && !settled.has(event.data.sampleId)) eligible.add(event.data.sampleId);
    if (event.type === 'sample.dropped') settle(event.data.sampleId);
    if (event.type === 'batch.submitted') {
      for (const { sampleId } of event.data.samples) settle(sampleId);
      openBatch = event.data.batchId;
    }
    if (isOutcome(event) && event.data.batchId === openBatch) openBatch = undefined;
    if (event.type === 'policy.loaded') served = event.data.version;
    if (event.type === 'learning.paused') paused = true;
    if (event.type === 'learning.resumed') paused = false;
  };
  const settle = (sampleId: string): void => {
    settled.add(sampleId);
    eligible.delete(sampleId);
  };
  const status = (): LoopStatus => {
    const scores = [...verdicts.values()];
    return {
      interactions: interactions.size,
      turns: turns.size,
      skipped: skipped.size,
      verdicts: scores.length,
      good: scores.filter((score) => score > 0).length,
      bad: scores.filter((score) => score < 0).length,
      eligible: eligible.size,
      training: openBatch !== undefined,
      progress: progress?.batch === openBatch ? progress : undefined,
      paused,
      served,
    };
  };
  const onStep = (told: StepProgress): void => {
    progress = told;
  };
  return { on, onStep, status };
}

type Outcome = Extract<
  ClawLoopEvent,
  { type: 'policy.promoted' | 'policy.rejected' | 'policy.update-failed' }
>;
const isOutcome = (event: ClawLoopEvent): event is Outcome =>
  event.type === 'policy.promoted' ||
  event.type === 'policy.rejected' ||
  event.type === 'policy.update-failed';

const describe = (progress: StepProgress | undefined): string =>
  progress === undefined
    ? ''
    : `: ${progress.phase} ${progress.samples} of ${progress.of}, ${progress.secondsLeft} s left`;

/** The live line: what came in, what was made of it, how far the next step is, what is served. */
export function formatStatus(status: LoopStatus, batchSize: number): string {
  const next = status.paused
    ? 'learning is paused'
    : status.training
      ? `a step is running${describe(status.progress)}`
      : `${Math.min(status.eligible, batchSize)} of ${batchSize} samples until the next step`;
  return [
    `serving v${status.served}`,
    `${status.interactions} answers`,
    `${status.turns} turns (${status.skipped} skipped)`,
    `${status.verdicts} verdicts (${status.good} good, ${status.bad} bad)`,
    next,
  ].join('  |  ');
}

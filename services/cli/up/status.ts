import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { countIds, createRecent } from '../../../shared/lang/recent.ts';
import { openReturnedTurns } from '../../../shared/views/returned-turns.ts';
import type { StatusState } from './status-state.ts';
import type { StepProgress } from './step-progress.ts';

export type LoopStatus = {
  readonly interactions: number;
  readonly turns: number;
  readonly skipped: number;
  readonly verdicts: number;
  readonly good: number;
  readonly bad: number;
  /** verdicts of 0: neither good nor bad */
  readonly neither: number;
  /** turns that could not be judged */
  readonly unavailable: number;
  readonly adapters: readonly AdapterStatus[];
};

type AdapterStatus = {
  readonly adapter: string;
  readonly eligible: number;
  readonly training: boolean;
  /** the candidate of the open batch answers a share of the sessions */
  readonly onCanary: boolean;
  /** of the running step, once the trainer has reported any */
  readonly progress: StepProgress | undefined;
  readonly paused: boolean;
  readonly served: number;
};

/** Types of the events that the counters come from. */
export const statusTypes: ReadonlySet<string> = new Set<ClawLoopEvent['type']>([
  ...(['interaction.completed', 'turn.completed', 'turn.skipped'] as const),
  ...(['judgment.reached', 'judgment.revised', 'sample.ready', 'sample.dropped'] as const),
  ...(['batch.submitted', 'batch.returned', 'policy.canary-started', 'policy.loaded'] as const),
  ...(['policy.promoted', 'policy.rejected', 'policy.update-failed'] as const),
  ...(['learning.paused', 'learning.resumed'] as const),
]);

/** Ids that are remembered, so that a copy in the log counts once. */
const REMEMBERED = 10_000;

/** The counters of the live line, folded from all topics. `from`: goes on from a stored state. */
export function createStatus(adapters: readonly string[], from?: StatusState) {
  const interactions = countIds(REMEMBERED, from?.interactions);
  const turns = countIds(REMEMBERED, from?.turns);
  const skipped = countIds(REMEMBERED, from?.skipped);
  const verdicts = countVerdicts(from?.verdicts);
  const byAdapter = new Map(
    adapters.map((adapter) => [adapter, createAdapterStatus(adapter, from?.adapters[adapter])]),
  );
  let progress: StepProgress | undefined;
  const on = (event: ClawLoopEvent): void => {
    if (event.type === 'interaction.completed' && event.data.live) interactions.add(event.id);
    if (event.type === 'turn.completed') turns.add(event.data.turnId);
    if (event.type === 'turn.skipped') skipped.add(event.data.turnId);
    if (event.type === 'judgment.reached') verdicts.reach(event.data.turnId, event.data.score);
    if (event.type === 'judgment.revised' && event.data.score !== null)
      verdicts.revise(event.data.turnId, event.data.score);
    byAdapter.get(event.subject)?.on(event);
  };
  const status = (): LoopStatus => ({
    interactions: interactions.count(),
    turns: turns.count(),
    skipped: skipped.count(),
    ...verdicts.counts(),
    adapters: [...byAdapter.values()].map((adapterStatus) => adapterStatus.status(progress)),
  });
  const onStep = (reported: StepProgress): void => {
    progress = reported;
  };
  const state = (): StatusState => ({
    interactions: interactions.state(),
    turns: turns.state(),
    skipped: skipped.state(),
    verdicts: verdicts.state(),
    adapters: Object.fromEntries([...byAdapter].map(([name, adapter]) => [name, adapter.state()])),
  });
  return { on, onStep, status, state };
}

type Verdicts = StatusState['verdicts'];
type Kind = Exclude<keyof Verdicts, 'recent'>;
const kindOf = (score: number | null): Kind =>
  score === null ? 'unavailable' : score > 0 ? 'good' : score < 0 ? 'bad' : 'neither';

function countVerdicts(from: Verdicts = { good: 0, bad: 0, neither: 0, unavailable: 0, recent: [] }) {
  const { recent: known, ...counts } = from;
  const recent = createRecent(REMEMBERED, known);
  let reached = counts.good + counts.bad + counts.neither + counts.unavailable;
  const add = (turnId: string, score: number | null): void => {
    counts[kindOf(score)] += 1;
    reached += 1;
    recent.set(turnId, score);
  };
  return {
    reach: (turnId: string, score: number | null): void => {
      if (!recent.has(turnId)) add(turnId, score);
    },
    /** The earlier verdict of a turn that is no longer remembered stays. */
    revise: (turnId: string, score: number): void => {
      const before = recent.get(turnId);
      if (before === undefined) {
        if (reached < REMEMBERED) add(turnId, score);
        return;
      }
      counts[kindOf(before)] -= 1;
      counts[kindOf(score)] += 1;
      recent.set(turnId, score);
    },
    counts: () => ({ ...counts, verdicts: reached }),
    state: (): Verdicts => ({ ...counts, recent: recent.entries().map(([id, score]) => [id, score]) }),
  };
}

function createAdapterStatus(adapter: string, from?: StatusState['adapters'][string]) {
  const eligible = new Set(from?.eligible);
  /** ids of operators' commands, so that a copy changes nothing */
  const returns = new Set<string>();
  const returned = openReturnedTurns(from?.returned);
  const settled = createRecent(
    REMEMBERED,
    from?.settled.map((id) => [id, true] as const),
  );
  let { openBatch, onCanary, paused, served } = from ?? newAdapter;
  const settle = (sampleId: string): void => {
    settled.set(sampleId, true);
    eligible.delete(sampleId);
  };
  const on = (event: ClawLoopEvent): void => {
    if (event.type === 'sample.ready' && !settled.has(event.data.sampleId)) eligible.add(event.data.sampleId);
    if (event.type === 'sample.dropped') {
      const { sampleId, returned: by } = event.data;
      if (by === undefined) settle(sampleId);
      else returned.drop(by, sampleId);
    }
    if (event.type === 'batch.returned' && !returns.has(event.id)) {
      returns.add(event.id);
      returned.add(event);
    }
    if (event.type === 'batch.submitted') {
      const { again, samples } = event.data;
      if (again !== undefined) returned.form(again, samples);
      else for (const { sampleId } of samples) settle(sampleId);
      openBatch = event.data.batchId;
    }
    if (event.type === 'policy.canary-started') onCanary = event.data.batchId;
    if (isOutcome(event) && event.data.batchId === openBatch) openBatch = undefined;
    if (event.type === 'policy.loaded') served = event.data.version;
    if (event.type === 'learning.paused') paused = true;
    if (event.type === 'learning.resumed') paused = false;
  };
  const status = (progress: StepProgress | undefined): AdapterStatus => ({
    adapter,
    eligible: eligible.size + returned.size(),
    training: openBatch !== undefined,
    onCanary: openBatch !== undefined && openBatch === onCanary,
    paused,
    served,
    progress: progress?.batch === openBatch ? progress : undefined,
  });
  const state = () => ({
    eligible: [...eligible],
    returned: returned.state(),
    settled: settled.entries().map(([id]) => id),
    ...{ openBatch, onCanary, paused, served },
  });
  return { on, status, state };
}

type Fresh = Pick<StatusState['adapters'][string], 'openBatch' | 'onCanary' | 'paused' | 'served'>;
const newAdapter: Fresh = { openBatch: undefined, onCanary: undefined, paused: false, served: 0 };

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
    : progress.phase === 'gate'
      ? ': the gate checks the candidate'
      : `: ${progress.phase} ${progress.samples} of ${progress.of}, ${progress.secondsLeft} s left`;

/** Between the parts of the live line. */
export const SEPARATOR = '  |  ';

/**
 * The live line: served versions, the progress to the next step, answers, turns, verdicts. With several
 * adapters it shows the step that runs, or the adapter that is closest to its next step.
 */
export function formatStatus(status: LoopStatus, batchSize: number): string {
  const several = status.adapters.length > 1;
  const name = ({ adapter }: AdapterStatus) => (several ? `${adapter} ` : '');
  const nearest = status.adapters.reduce((best, other) => (rank(other) > rank(best) ? other : best));
  const of = several ? ` of ${nearest.adapter}` : '';
  const next = nearest.paused
    ? 'learning is paused'
    : nearest.onCanary
      ? `verdicts decide about a canary${of}`
      : nearest.training
        ? `a step${of} is running${describe(nearest.progress)}`
        : `${Math.min(nearest.eligible, batchSize)} of ${batchSize} samples until the next step${of}`;
  return [
    `serving ${status.adapters.map((adapter) => `${name(adapter)}v${adapter.served}`).join(', ')}`,
    next,
    `${counted(status.interactions, 'answer')} (${status.skipped} skipped)`,
    counted(status.turns, 'completed turn'),
    `${counted(status.verdicts, 'verdict')} (${verdictsOf(status)})`,
  ].join(SEPARATOR);
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/** Neutral verdicts are shown too: some may be complaints that the judge did not recognise. */
const verdictsOf = ({ good, bad, neither, unavailable }: LoopStatus): string =>
  [
    `${good} good`,
    `${bad} bad`,
    ...(neither === 0 ? [] : [`${neither} neither`]),
    ...(unavailable === 0 ? [] : [`${unavailable} not judged`]),
  ].join(', ');

const rank = ({ progress, training, paused, eligible }: AdapterStatus): number =>
  progress !== undefined ? Number.MAX_VALUE : training ? Number.MAX_SAFE_INTEGER : paused ? -1 : eligible;

import type { BatchSubmitted } from '../../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { PolicyTrained } from '../../../shared/events/policy-trained.ts';

/** The outcome of one batch. */
export type FigureRow = {
  /** number of the batch and of the version that it makes */
  readonly step: number;
  /** ms since 1970 of the outcome */
  readonly time: number;
  /** by name: step/loss, gate/promoted, batch/good_share ... */
  readonly figures: Readonly<Record<string, number>>;
};

/** All steps of one adapter. */
export type TrainingRun = {
  readonly adapter: string;
  /** ms since 1970 of the first batch */
  readonly start: number;
  /** settings of the first batch */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly rows: readonly FigureRow[];
};

type RunState = {
  readonly start: number;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly rows: FigureRow[];
  /** the batch that has no outcome yet */
  open?: { readonly batch: BatchSubmitted['data']; trained?: PolicyTrained['data'] };
  /** verdicts of samples that are in no batch yet, by id */
  readonly verdicts: Map<string, number>;
};

/** Event types that the figures come from. */
export const figureTypes: ReadonlySet<string> = new Set<ClawLoopEvent['type']>([
  ...(['sample.ready', 'sample.dropped', 'batch.submitted'] as const),
  ...(['policy.trained', 'policy.promoted', 'policy.rejected', 'policy.update-failed'] as const),
]);

/** Collects the runs from the events of `training`, in order. The same events always give the same runs. */
export function collectRuns() {
  const states = new Map<string, RunState>();
  const waiting = new Map<string, Map<string, number>>();
  const verdictsOf = (adapter: string) => {
    const verdicts = waiting.get(adapter) ?? new Map<string, number>();
    waiting.set(adapter, verdicts);
    return verdicts;
  };
  /** @returns whether a batch came to its outcome */
  const on = (event: ClawLoopEvent): boolean => {
    const adapter = event.subject;
    switch (event.type) {
      case 'sample.ready':
        verdictsOf(adapter).set(event.data.sampleId, event.data.verdict);
        return false;
      case 'sample.dropped':
        verdictsOf(adapter).delete(event.data.sampleId);
        return false;
      case 'batch.submitted': {
        const { data } = event;
        const start = Date.parse(event.time);
        const verdicts = verdictsOf(adapter);
        const state: RunState = states.get(adapter) ?? { start, settings: data.settings, rows: [], verdicts };
        states.set(adapter, state);
        if (data.n > (state.rows.at(-1)?.step ?? 0) && state.open === undefined) state.open = { batch: data };
        return false;
      }
      case 'policy.trained': {
        const open = states.get(adapter)?.open;
        if (open?.batch.batchId === event.data.batchId) open.trained = event.data;
        return false;
      }
      case 'policy.promoted':
      case 'policy.rejected':
      case 'policy.update-failed': {
        const state = states.get(adapter);
        if (state?.open?.batch.batchId !== event.data.batchId) return false;
        state.rows.push(rowOf(state, event));
        delete state.open;
        return true;
      }
      default:
        return false;
    }
  };
  const runs = (): readonly TrainingRun[] =>
    [...states].map(([adapter, { start, settings, rows }]) => ({ adapter, start, settings, rows }));
  return { on, runs };
}

type Outcome = Extract<
  ClawLoopEvent,
  { type: 'policy.promoted' | 'policy.rejected' | 'policy.update-failed' }
>;

function rowOf({ open, verdicts }: RunState, outcome: Outcome): FigureRow {
  const { batch, trained } = open!;
  const given = batch.samples.flatMap(({ sampleId }) => verdicts.get(sampleId) ?? []);
  for (const { sampleId } of batch.samples) verdicts.delete(sampleId);
  const good = given.filter((verdict) => verdict > 0).length;
  const bad = given.filter((verdict) => verdict < 0).length;
  const limits = outcome.type === 'policy.rejected' ? (outcome.data.figures ?? {}) : {};
  return {
    step: batch.n,
    time: Date.parse(outcome.time),
    figures: {
      ...prefixed('step', trained?.metrics ?? {}),
      ...(trained === undefined ? {} : { 'step/seconds': trained.milliseconds / 1000 }),
      'gate/promoted': Number(outcome.type === 'policy.promoted'),
      ...prefixed('gate', limits),
      'batch/samples': batch.samples.length,
      // the verdicts of a batch that trains again belong to its first step
      ...(batch.again === undefined ? { 'batch/good': good, 'batch/bad': bad } : {}),
      ...(good + bad === 0 ? {} : { 'batch/good_share': good / (good + bad) }),
      'batch/parent': batch.parent,
    },
  };
}

const prefixed = (prefix: string, figures: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(figures).map(([name, value]) => [`${prefix}/${name}`, value]));

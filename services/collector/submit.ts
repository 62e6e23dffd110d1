import { createHash } from 'node:crypto';
import { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { Position } from '../../shared/events/position.ts';
import { SampleDropped } from '../../shared/events/sample-dropped.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import type {
  DistillationForm,
  LearningMethod,
  TrainingSettings,
} from '../../shared/events/training-settings.ts';
import { staleness } from '../../shared/lineage/head.ts';
import { foldHead, headView, writeHeadChange } from '../../shared/lineage/head-rows.ts';
import type { Fold, InputEvent } from '../../shared/log/fold.ts';
import { type Draft, openDraft, type Rows } from '../../shared/log/rows.ts';
import { earlierRequests, forgetAsked, namesEarlier, noteAsked } from './earlier-requests.ts';
import { forgetLeft, isKnown, noteCame, noteLeft, rememberPool } from './known-samples.ts';
import { type EligibleSample, pickSamples } from './pick-samples.ts';
import { facts } from './source.ts';
import { takeWishes, wishesInBatch } from './wishes-of-pool.ts';

export type SubmitSettings = {
  /** samples per batch */
  readonly size: number;
  /** samples of one that has to take more, lest they grow too old; as many as `size` unless told */
  readonly most?: number;
  /** steps along the lineage that a sample may be behind the head */
  readonly maxStaleness: number;
  /** of a batch, at most for one session and for one access key while others have samples; half unless told */
  readonly share?: number;
  readonly training: TrainingSettings;
  /** corrections without a change after which a wish is set aside; absent: never, and no wish is looked at */
  readonly wishPatience?: number;
  /** Samples take the wishes that were told before them. Absent: they do not, as in logs of earlier programs. */
  readonly standingWishes?: boolean;
  /** of those adapters that learn by another method */
  readonly adapterMethods?: Readonly<Record<string, LearningMethod>>;
  /** of those adapters that learn another form of a teacher's view */
  readonly adapterDistillation?: Readonly<Record<string, DistillationForm>>;
};

/** One row per adapter beside the head's, `submit/now`; samples stand in `sample/<order of arrival>`. */
type SubmitRow = {
  /** samples that ever arrived: the next one's key */
  readonly arrived: number;
  readonly eligible: number;
  readonly paused: boolean;
  readonly requested: boolean;
  /** sessions of which more samples follow at once; absent: none */
  readonly coming?: Readonly<Record<string, Coming>>;
  /** ids of samples are remembered; absent in rows of earlier programs */
  readonly remembers?: true;
  /** against which head and bound the pool was last looked through */
  readonly checked: { readonly head: number; readonly maxStaleness: number };
};

/**
 * How many samples follow, and when the one before was appended, ms since 1970. A bare number, of an earlier
 * program, has no such moment.
 */
type Coming = number | { readonly following: number; readonly since: number };

/** ms for which the samples of one commit wait for each other: they are appended together */
const COMING_MS = 60_000;

const emptyRow: SubmitRow = {
  arrived: 0,
  eligible: 0,
  paused: false,
  requested: false,
  remembers: true,
  checked: { head: 0, maxStaleness: -1 },
};

/**
 * When a batch is formed, and of what: the only place that decides about staleness. training -> training.
 * The gate is closed in the commit that emits `batch.submitted`; reading that fact back changes nothing.
 */
export const submit: Fold<SubmitSettings> = {
  name: 'submit',
  reads: 'training',
  writes: 'training',
  on: (rows, event, at, settings) => {
    const draft = openDraft(rows);
    const table = draft.table<SubmitRow>('submit');
    foldHead(draft, event);
    const before = table.get('now') ?? emptyRow;
    const commanded = onCommand(draft, remembering(draft, before), event);
    const came = onSample(draft, commanded, event, { at, settings });
    const stocked = withoutLost(came.row, event);
    const withdrawn = onWithdrawn(draft, afterLost(stocked, event), event);
    const { row, dropped: unfit } = dropUnfit(draft, withdrawn.row, event, settings);
    const dropped = [...came.emit, ...withdrawn.dropped, ...unfit];
    const formed = formBatch(draft, row, event, settings);
    const after = formed?.row ?? row;
    if (after !== before) table.set('now', after);
    return { changes: draft.changes(), emit: [...dropped, ...(formed?.emit ?? [])] };
  },
};

function onCommand(draft: Draft, row: SubmitRow, event: ClawLoopEvent): SubmitRow {
  const view = headView(draft);
  switch (event.type) {
    case 'learning.paused':
    case 'learning.resumed':
      if (view.hasCommand(event.id)) return row;
      writeHeadChange(draft, { command: event.id });
      return { ...row, paused: event.type === 'learning.paused' };
    case 'batch.requested':
      return event.data.after === view.n ? { ...row, requested: true } : row; // else out of date
    default:
      return row;
  }
}

function remembering(draft: Draft, row: SubmitRow): SubmitRow {
  if (row.remembers) return row;
  rememberPool(draft);
  return { ...row, remembers: true };
}

/** A copy of a sample changes nothing, wherever the sample is now. */
function onSample(
  draft: Draft,
  row: SubmitRow,
  event: InputEvent,
  { at, settings }: { readonly at: Position; readonly settings: SubmitSettings },
): { readonly row: SubmitRow; readonly emit: readonly ClawLoopEvent[] } {
  if (event.type !== 'sample.ready' || isKnown(draft, event.data.sampleId)) return { row, emit: [] };
  const { sampleId, following } = event.data;
  noteCame(draft, sampleId);
  const learnsOfHints = trainingOf(settings, event.subject).method === 'opd';
  const patience = learnsOfHints ? undefined : settings.wishPatience;
  const { inPool, left, emit } = takeWishes(draft, event, { patience, stand: settings.standingWishes });
  if (inPool === undefined) {
    noteLeft(draft, sampleId, event);
    return { row: { ...row, eligible: row.eligible - left }, emit };
  }
  const sample = { ...eligibleSample(event, at), ...inPool };
  draft.table<EligibleSample>('sample').set(orderKey(row.arrived), sample);
  const coming = comingAfter(row, sample.session, event, following);
  return { row: { ...row, arrived: row.arrived + 1, eligible: row.eligible + 1 - left, coming }, emit };
}

function comingAfter(
  row: SubmitRow,
  session: string,
  { recorded: since }: InputEvent,
  following = 0,
): NonNullable<SubmitRow['coming']> {
  const { [session]: _, ...others } = row.coming ?? {};
  const more = since === undefined ? following : { following, since };
  return following === 0 ? others : { ...others, [session]: more };
}

/** Samples that could not be read when they came hold up no batch for ever. */
function withoutLost(row: SubmitRow, { recorded }: InputEvent): SubmitRow {
  if (row.coming === undefined || recorded === undefined) return row;
  const isLost = (one: Coming) => typeof one === 'number' || recorded - one.since > COMING_MS;
  const left = Object.entries(row.coming).filter(([, one]) => !isLost(one));
  return left.length === Object.keys(row.coming).length ? row : { ...row, coming: Object.fromEntries(left) };
}

/** A sample of a rewarded session whose record was lost never comes: nobody waits for it. */
function afterLost(row: SubmitRow, event: InputEvent): SubmitRow {
  if (event.type !== 'sample.dropped' || event.data.coming === undefined) return row;
  const { session, following } = event.data.coming;
  return { ...row, coming: comingAfter(row, session, event, following) };
}

/** What is in a batch, or was dropped, is not here any more: it stays what it is, and is asked no more. */
function onWithdrawn(draft: Draft, row: SubmitRow, event: InputEvent) {
  if (event.type !== 'sample.withdrawn') return { row, dropped: [] };
  const samples = draft.table<EligibleSample>('sample');
  const { sampleId, reason } = event.data;
  forgetAsked(draft, sampleId);
  const found = [...samples.entries()].find(([, sample]) => sample.sampleId === sampleId);
  if (found === undefined) return { row, dropped: [] };
  samples.delete(found[0]);
  noteLeft(draft, sampleId, event);
  return { row: { ...row, eligible: row.eligible - 1 }, dropped: [dropSample(event, sampleId, reason)] };
}

const dropSample = (event: ClawLoopEvent, sampleId: string, reason: SampleDropped['data']['reason']) => {
  const data = { sampleId, adapter: event.subject, reason };
  return SampleDropped.create({ ...facts(event), id: `${sampleId}/dropped`, data });
};

const eligibleSample = ({ data }: SampleReady, at: Position): EligibleSample => ({
  sampleId: data.sampleId,
  at,
  session: `${data.session}@${data.epoch}`,
  version: data.version,
  ...(data.key === undefined ? {} : { key: data.key }),
  ...(data.following === undefined ? {} : { whole: true }),
});

/** Keys sort as the numbers do. */
const orderKey = (arrived: number) => String(arrived).padStart(12, '0');

/** Looks through the whole pool only when head or bound moved; else only the sample that just came. */
function dropUnfit(draft: Draft, row: SubmitRow, event: InputEvent, { maxStaleness }: SubmitSettings) {
  const view = headView(draft);
  const moved = row.checked.head !== view.head || row.checked.maxStaleness !== maxStaleness;
  if (!moved && event.type !== 'sample.ready') return { row, dropped: [] };
  const samples = draft.table<EligibleSample>('sample');
  const newest = orderKey(row.arrived - 1);
  const looked = moved ? [...samples.entries()] : [[newest, samples.get(newest)] as const];
  const dropped = looked.flatMap(([key, sample]) => {
    if (sample === undefined) return []; // a copy came, and the last sample has left
    const steps = staleness(view, sample.version, view.head);
    if (steps >= 0 && steps <= maxStaleness) return [];
    samples.delete(key);
    noteLeft(draft, sample.sampleId, event);
    return [dropSample(event, sample.sampleId, steps < 0 ? 'off-lineage' : 'stale')];
  });
  const checked = { head: view.head, maxStaleness };
  return { row: { ...row, checked, eligible: row.eligible - dropped.length }, dropped };
}

function formBatch(draft: Draft, row: SubmitRow, event: InputEvent, settings: SubmitSettings) {
  const view = headView(draft);
  const enough = row.eligible >= settings.size || (row.requested && row.eligible > 0);
  const isWhole = Object.keys(row.coming ?? {}).length === 0;
  if (view.open !== null || row.paused || !enough || !isWhole) return undefined;
  const samples = draft.table<EligibleSample>('sample');
  const { size, most = size, maxStaleness, share = 0.5 } = settings;
  const batchesLeft = (version: number) => maxStaleness - staleness(view, version, view.head) + 1;
  const newestFirst = (settings.training.rules ?? 1) < 2; // settings of an earlier program name no rules
  const options = { size, most, share, newestFirst, batchesLeft };
  const { batch, overtaken } = pickSamples([...samples.entries()], options);
  const adapter = event.subject;
  const n = view.n + 1;
  const earlier = namesEarlier(settings.training) ? earlierRequests(draft) : [];
  const data: BatchSubmitted['data'] = {
    batchId: `${adapter}/batch/${n}`,
    adapter,
    n,
    parent: view.head,
    size: settings.size,
    maxStaleness: settings.maxStaleness,
    samples: batch.map(([, sample]) => {
      const { sampleId, at } = sample;
      return { sampleId, at, ...wishesInBatch(draft, sample, settings.standingWishes) };
    }),
    ...(earlier.length === 0 ? {} : { earlier }),
    settings: trainingOf(settings, adapter),
    seed: batchSeed(adapter, n),
  };
  writeHeadChange(draft, { open: data, n });
  const leaving = [...batch, ...overtaken];
  for (const [key, { sampleId }] of leaving) {
    samples.delete(key);
    noteLeft(draft, sampleId, event);
  }
  forgetLeft(draft, event, maxStaleness);
  if (namesEarlier(settings.training))
    noteAsked(
      draft,
      batch.map(([, sample]) => sample),
    );
  return {
    emit: [
      BatchSubmitted.create({ ...facts(event), id: data.batchId, data }),
      ...overtaken.map(([, { sampleId }]) => dropSample(event, sampleId, 'stale')),
    ],
    row: { ...row, requested: false, eligible: row.eligible - leaving.length },
  };
}

const trainingOf = (
  { training, adapterMethods, adapterDistillation }: SubmitSettings,
  adapter: string,
): TrainingSettings => ({
  ...training,
  method: adapterMethods?.[adapter] ?? training.method,
  distillation: adapterDistillation?.[adapter] ?? training.distillation,
});

/** The same for ever: 31 bits of a hash of adapter and number. */
export const batchSeed = (adapter: string, n: number): number =>
  createHash('sha256').update(`${adapter}\n${n}`).digest().readUInt32BE(0) >>> 1;

/** Samples that wait for a batch, from committed rows. */
export const eligibleSamples = (rows: Rows): number =>
  (rows.get('submit/now') as SubmitRow | undefined)?.eligible ?? 0;

/** Whether a smaller batch would be formed if someone asked: for the sweeper, from committed rows. */
export function waitingSamples(rows: Rows): { readonly n: number; readonly eligible: number } | undefined {
  const row = rows.get('submit/now') as SubmitRow | undefined;
  const { open, n } = headView(openDraft(rows));
  if (row === undefined || row.eligible === 0 || row.paused || row.requested || open !== null)
    return undefined;
  return { n, eligible: row.eligible };
}

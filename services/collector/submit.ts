import { createHash } from 'node:crypto';
import { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { Position } from '../../shared/events/position.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { defined } from '../../shared/lang/defined.ts';
import { staleness } from '../../shared/lineage/head.ts';
import { foldHead, headView, writeHeadChange } from '../../shared/lineage/head-rows.ts';
import type { Fold, InputEvent } from '../../shared/log/fold.ts';
import { type Draft, openDraft, type Rows } from '../../shared/log/rows.ts';
import { countForCanary, decideCanary } from './canary.ts';
import { type ComingSamples, comingAfter, comingStill } from './coming-samples.ts';
import { noteConflict, withConflict } from './conflict.ts';
import { earlierRequests, forgetRequest, keepRequests, namesEarlierRequests } from './earlier-requests.ts';
import { type SubmitSettings, wishPatienceOf } from './fold-settings.ts';
import { forgetLeft, isKnown, noteArrived, noteLeft, rememberPool } from './known-samples.ts';
import { type EligibleSample, pickSamples } from './pick-samples.ts';
import { type BatchWithoutPlace, returnBatch, takeReturned, withdrawReturned } from './returned-batches.ts';
import { droppedSample } from './sample-facts.ts';
import { envelopeOf } from './source.ts';
import { awaitsDecision, isCounted, noteDecision, watchPromoted, watchVerdict } from './verdict-watch.ts';
import { takeWishes, wishesInBatch } from './wishes-of-pool.ts';

/** `submit/now`: one row per adapter, besides the head's rows. Samples are in `sample/<order of arrival>`. */
type SubmitRow = {
  /** number of samples that ever arrived, which is the key of the next one */
  readonly arrived: number;
  readonly eligible: number;
  readonly paused: boolean;
  readonly requested: boolean;
  /** sessions with more samples to follow immediately; absent: none */
  readonly coming?: ComingSamples;
  /** sample ids are kept in `known`; absent in rows of earlier programs */
  readonly remembers?: true;
  /** head, bound and canary against which the whole pool was last checked; canary absent: none */
  readonly checked: { readonly head: number; readonly maxStaleness: number; readonly canary?: number };
};

const emptyRow: SubmitRow = {
  arrived: 0,
  eligible: 0,
  paused: false,
  requested: false,
  remembers: true,
  checked: { head: 0, maxStaleness: -1 },
};

/**
 * Decides when a batch is formed and of which samples. Only this fold decides about staleness. training ->
 * training. The batch opens in the commit that emits `batch.submitted`; reading that event back changes
 * nothing.
 */
export const submit: Fold<SubmitSettings> = {
  name: 'submit',
  reads: 'training',
  writes: 'training',
  on: (rows, event, at, settings) => {
    const draft = openDraft(rows);
    const table = draft.table<SubmitRow>('submit');
    const isCopy = headView(draft).hasCommand(event.id);
    foldHead(draft, event);
    const decided = isCopy ? [] : watchVersions(draft, event, settings);
    const before = table.get('now') ?? emptyRow;
    const commanded = applyCommand(draft, withSampleIds(draft, before), event);
    const added = addSample(draft, commanded, event, { at, settings });
    const coming = comingStill(added.row.coming, event);
    const current = coming === added.row.coming ? added.row : { ...added.row, ...defined({ coming }) };
    const withdrawn = withdrawSample(draft, current, event);
    const again = event.type === 'batch.returned' && !isCopy ? returnBatch(draft, event, at) : [];
    const { row, dropped: unfit } = dropUnfit(draft, withdrawn.row, event, settings);
    const dropped = [...added.emit, ...withdrawn.dropped, ...again, ...unfit];
    const formed = nextBatch(draft, row, event, settings);
    const after = formed.row ?? row;
    if (after !== before) table.set('now', after);
    return { changes: draft.changes(), emit: [...decided, ...dropped, ...formed.emit] };
  },
};

/** Compares versions by their verdicts. Without the setting only decisions made with it are read back. */
function watchVersions(
  draft: Draft,
  event: InputEvent,
  { watch, canary }: SubmitSettings,
): readonly ClawLoopEvent[] {
  if (watch !== undefined && event.type === 'policy.promoted') watchPromoted(draft, event);
  const decided: ClawLoopEvent[] = [];
  const compares = watch !== undefined || headView(draft).canary != null;
  if (compares && event.type === 'verdict.recorded' && isCounted(draft, event)) {
    countForCanary(draft, event);
    if (watch !== undefined) decided.push(...watchVerdict(draft, event, watch));
  }
  return [...decided, ...noteDecision(draft, event, watch), ...decideCanary(draft, event, canary)];
}

function applyCommand(draft: Draft, row: SubmitRow, event: ClawLoopEvent): SubmitRow {
  const view = headView(draft);
  switch (event.type) {
    case 'learning.paused':
    case 'learning.resumed':
      if (view.hasCommand(event.id)) return row;
      writeHeadChange(draft, { command: event.id });
      return { ...row, paused: event.type === 'learning.paused' };
    case 'batch.requested':
      return event.data.after === view.n ? { ...row, requested: true } : row; // an outdated request is ignored
    default:
      return row;
  }
}

function withSampleIds(draft: Draft, row: SubmitRow): SubmitRow {
  if (row.remembers) return row;
  rememberPool(draft);
  return { ...row, remembers: true };
}

/** Adds a new sample to the pool. A copy of a known sample changes nothing, wherever the sample is now. */
function addSample(
  draft: Draft,
  row: SubmitRow,
  event: InputEvent,
  { at, settings }: { readonly at: Position; readonly settings: SubmitSettings },
): { readonly row: SubmitRow; readonly emit: readonly ClawLoopEvent[] } {
  if (event.type !== 'sample.ready' || isKnown(draft, event.data.sampleId)) return { row, emit: [] };
  const { sampleId, following } = event.data;
  noteArrived(draft, sampleId);
  const patience = wishPatienceOf(settings, event.subject);
  const { inPool, left, outdated, emit } = takeWishes(draft, event, {
    patience,
    stand: settings.standingWishes,
    rules: settings.wishRules,
  });
  noteConflict(draft, event, settings, outdated);
  if (inPool === undefined) {
    noteLeft(draft, sampleId, event);
    return { row: { ...row, eligible: row.eligible - left }, emit };
  }
  const sample = { ...eligibleSample(event, at), ...inPool };
  draft.table<EligibleSample>('sample').set(orderKey(row.arrived), sample);
  const coming = comingAfter(row.coming, sample.session, event, following);
  return { row: { ...row, arrived: row.arrived + 1, eligible: row.eligible + 1 - left, coming }, emit };
}

/** Drops a withdrawn sample wherever it waits, and from the earlier requests. It stays in a batch that has it. */
function withdrawSample(draft: Draft, row: SubmitRow, event: InputEvent) {
  if (event.type !== 'sample.withdrawn') return { row, dropped: [] };
  const samples = draft.table<EligibleSample>('sample');
  const { sampleId, reason } = event.data;
  forgetRequest(draft, sampleId);
  const returned = withdrawReturned(draft, event);
  const entry = [...samples.entries()].find(([, sample]) => sample.sampleId === sampleId);
  if (entry === undefined) return { row, dropped: returned };
  samples.delete(entry[0]);
  noteLeft(draft, sampleId, event);
  return {
    row: { ...row, eligible: row.eligible - 1 },
    dropped: [droppedSample(event, { sampleId, adapter: event.subject, reason }), ...returned],
  };
}

const eligibleSample = ({ data }: SampleReady, at: Position): EligibleSample => ({
  sampleId: data.sampleId,
  at,
  session: `${data.session}@${data.epoch}`,
  version: data.version,
  ...defined({ key: data.key, said: data.said, whole: data.following === undefined ? undefined : true }),
});

/** Pads a key so that keys sort like numbers. */
const orderKey = (arrived: number) => String(arrived).padStart(12, '0');

/**
 * Drops stale samples. Checks the whole pool only if the head, the bound or the canary changed, otherwise only the
 * newest. Samples of the version on canary wait for its end.
 */
function dropUnfit(draft: Draft, row: SubmitRow, event: InputEvent, { maxStaleness }: SubmitSettings) {
  const view = headView(draft);
  const onCanary = view.canary?.to;
  const { checked: last } = row;
  const moved = last.head !== view.head || last.maxStaleness !== maxStaleness || last.canary !== onCanary;
  if (!moved && event.type !== 'sample.ready') return { row, dropped: [] };
  const samples = draft.table<EligibleSample>('sample');
  const newest = orderKey(row.arrived - 1);
  const candidates = moved ? [...samples.entries()] : [[newest, samples.get(newest)] as const];
  const dropped = candidates.flatMap(([key, sample]) => {
    if (sample?.version === onCanary && onCanary !== undefined) return [];
    if (sample === undefined) return []; // a copy arrived, and the newest sample has left
    const steps = staleness(view, sample.version, view.head);
    if (steps >= 0 && steps <= maxStaleness) return [];
    samples.delete(key);
    noteLeft(draft, sample.sampleId, event);
    return [
      droppedSample(event, {
        sampleId: sample.sampleId,
        adapter: event.subject,
        reason: steps < 0 ? 'off-lineage' : 'stale',
      }),
    ];
  });
  const checked = { head: view.head, maxStaleness, ...defined({ canary: onCanary }) };
  return { row: { ...row, checked, eligible: row.eligible - dropped.length }, dropped };
}

type NextBatch = { readonly row?: SubmitRow; readonly emit: readonly ClawLoopEvent[] };

/** Forms a batch if none is open: first of returned batches, so that they train in their order. */
function nextBatch(draft: Draft, row: SubmitRow, event: InputEvent, settings: SubmitSettings): NextBatch {
  const view = headView(draft);
  if (view.open !== null || row.paused || awaitsDecision(draft)) return { emit: [] };
  const n = view.n + 1;
  const { batch, dropped } = takeReturned(draft, event, n);
  if (batch !== undefined) return { emit: [...dropped, openBatch(draft, event, batch)] };
  const enough = row.eligible >= settings.size || (row.requested && row.eligible > 0);
  const isWhole = Object.keys(row.coming ?? {}).length === 0;
  if (!enough || !isWhole) return { emit: dropped };
  const formed = formBatch(draft, row, event, settings);
  return { row: formed.row, emit: [...dropped, ...formed.emit] };
}

function formBatch(draft: Draft, row: SubmitRow, event: InputEvent, settings: SubmitSettings) {
  const view = headView(draft);
  const samples = draft.table<EligibleSample>('sample');
  const { size, most = size, maxStaleness, share = 0.5 } = settings;
  const batchesLeft = (version: number) => maxStaleness - staleness(view, version, view.head) + 1;
  const newestFirst = (settings.training.rules ?? 1) < 2; // settings of an earlier program have no `rules`
  const options = { size, most, share, newestFirst, batchesLeft };
  const { batch, overtaken } = pickSamples([...samples.entries()], options);
  const adapter = event.subject;
  const earlier = namesEarlierRequests(settings.training) ? earlierRequests(draft) : [];
  const opened = openBatch(draft, event, {
    size,
    maxStaleness,
    samples: batch.map(([, sample]) => {
      const { sampleId, at } = sample;
      return { sampleId, at, ...wishesInBatch(draft, sample, settings.standingWishes) };
    }),
    ...defined({ earlier: earlier.length === 0 ? undefined : earlier }),
    settings: withConflict(draft, settings, adapter),
    seed: batchSeed(adapter, view.n + 1),
  });
  const leaving = [...batch, ...overtaken];
  for (const [key, { sampleId }] of leaving) {
    samples.delete(key);
    noteLeft(draft, sampleId, event);
  }
  forgetLeft(draft, event, maxStaleness);
  if (namesEarlierRequests(settings.training))
    keepRequests(
      draft,
      batch.map(([, sample]) => sample),
    );
  return {
    emit: [
      opened,
      ...overtaken.map(([, { sampleId }]) => droppedSample(event, { sampleId, adapter, reason: 'stale' })),
    ],
    row: { ...row, requested: false, eligible: row.eligible - leaving.length },
  };
}

/** Opens the next batch, on the head. */
function openBatch(draft: Draft, event: InputEvent, batch: BatchWithoutPlace): BatchSubmitted {
  const view = headView(draft);
  const n = view.n + 1;
  const adapter = event.subject;
  const data = { batchId: `${adapter}/batch/${n}`, adapter, n, parent: view.head, ...batch };
  writeHeadChange(draft, { open: data, n });
  return BatchSubmitted.create({ ...envelopeOf(event), id: data.batchId, data });
}

/** 31 bits of a hash of adapter and number. Must never change. */
export const batchSeed = (adapter: string, n: number): number =>
  createHash('sha256').update(`${adapter}\n${n}`).digest().readUInt32BE(0) >>> 1;

/** Number of samples that wait for a batch, from committed rows. */
export const eligibleSamples = (rows: Rows): number =>
  (rows.get('submit/now') as SubmitRow | undefined)?.eligible ?? 0;

/** For the sweeper, from committed rows: the samples of a batch that a request would form; undefined: none. */
export function waitingSamples(rows: Rows): { readonly n: number; readonly eligible: number } | undefined {
  const row = rows.get('submit/now') as SubmitRow | undefined;
  const { open, n } = headView(openDraft(rows));
  if (row === undefined || row.eligible === 0 || row.paused || row.requested || open !== null)
    return undefined;
  return { n, eligible: row.eligible };
}

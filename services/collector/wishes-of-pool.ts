import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { SampleDropped } from '../../shared/events/sample-dropped.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { WishSetAside } from '../../shared/events/wish-set-aside.ts';
import { WishTakenUp } from '../../shared/events/wish-taken-up.ts';
import { defined } from '../../shared/lang/defined.ts';
import type { InputEvent } from '../../shared/log/fold.ts';
import type { Draft } from '../../shared/log/rows.ts';
import { contradict } from '../../shared/wishes/wish-id.ts';
import type { SubmitSettings } from './fold-settings.ts';
import { noteLeft } from './known-samples.ts';
import type { EligibleSample } from './pick-samples.ts';
import { droppedSample } from './sample-facts.ts';
import { envelopeOf } from './source.ts';
import { isOfCall, type NotedWishes, noteWishes, standingWishes, type WishChange } from './wish-record.ts';
import { isAfter } from './wish-track.ts';

type SampleWishes = {
  /** members of the sample in the pool; absent: it does not enter the pool */
  readonly inPool?: Pick<EligibleSample, 'wishes' | 'without' | 'takes'>;
  /** number of samples that left the pool */
  readonly left: number;
  /** its wishes that a later complaint, which arrived before, contradicts */
  readonly outdated: readonly string[];
  readonly emit: readonly ClawLoopEvent[];
};

/**
 * Applies a new sample to its person's wishes. It is dropped if all its wishes are set aside. Waiting samples
 * lose the wishes that it contradicts, because the latest wish counts.
 */
export function takeWishes(
  draft: Draft,
  event: SampleReady & InputEvent,
  {
    patience,
    stand = false,
    rules,
  }: {
    readonly patience: number | undefined;
    readonly stand?: boolean | undefined;
    readonly rules?: SubmitSettings['wishRules'];
  },
): SampleWishes {
  if (patience === undefined) return { inPool: {}, left: 0, outdated: [], emit: [] };
  const noted = noteWishes(draft, event, patience, rules);
  const { named, outdated } = noted;
  const latest = named.filter((wish) => !outdated.includes(wish));
  // An inferred wish contradicts nothing, and neither does a judge's hint on a call.
  const isStated = !event.data.inferred && !event.data.repeats && !(rules === 2 && isOfCall(event.data));
  const older = isStated ? dropContradicted(draft, event, latest) : [];
  const emit = [...noted.changes.map((change) => wishEvent(event, change)), ...older];
  const without = [...new Set([...noted.setAside, ...outdated])];
  if (named.length > 0 && without.length === named.length)
    return { left: older.length, outdated, emit: [...emit, droppedForWishes(event, noted)] };
  const inPool = {
    ...defined({
      wishes: named.length === 0 ? undefined : named,
      without: without.length === 0 ? undefined : without,
    }),
    ...(stand ? standingModeOf(event.data) : {}),
  };
  return { inPool, left: older.length, outdated, emit };
}

/**
 * The wishes of a sample in a batch: the standing wishes of now count, not those at the time of the verdict.
 */
export function wishesInBatch(
  draft: Draft,
  { key, wishes = [], without = [], takes }: EligibleSample,
  stand: boolean | undefined,
): Pick<BatchSubmitted['data']['samples'][number], 'without' | 'standing'> {
  const taught = wishes.filter((wish) => !without.includes(wish));
  const standing = !stand || takes === undefined ? [] : standingWishes(draft, key, takes);
  const beside = standing.filter(
    (kind) => !taught.some((wish) => wish === kind || contradict(wish, kind) || contradict(kind, wish)),
  );
  return {
    ...defined({
      without: without.length === 0 ? undefined : without,
      standing: beside.length === 0 ? undefined : beside,
    }),
  };
}

/** A derived, carried or implied verdict, or one from a tool, is not an opinion on wishes. */
function standingModeOf({
  verdict,
  source,
  hints,
  ...data
}: SampleReady['data']): Pick<EligibleSample, 'takes'> {
  const { soft, evidence, carried, advantage } = data;
  const isDerived = soft || [evidence, carried, advantage].some((value) => value !== undefined);
  const isSaid = source !== 'reward' && !isDerived;
  if (!isSaid || (verdict === 0 ? hints.length === 0 : verdict > 0 && hints.length > 0)) return {};
  return { takes: verdict > 0 ? 'praise' : 'complaint' };
}

const droppedForWishes = (
  event: SampleReady & InputEvent,
  { named, outdated, changes }: NotedWishes,
): SampleDropped => {
  const { sampleId } = event.data;
  if (outdated.length > 0)
    return droppedSample(event, {
      sampleId,
      adapter: event.subject,
      reason: 'contradicted',
      rule: outdated.join(' '),
    });
  const now = changes.find(({ kind }) => kind === 'set-aside');
  const rule = now === undefined ? named.join(' ') : `${named.join(' ')}: ${now.corrections} corrections`;
  return droppedSample(event, { sampleId, adapter: event.subject, reason: 'set-aside', rule });
};

/** Takes contradicted wishes out of waiting samples, and drops a sample with no wish left. */
function dropContradicted(
  draft: Draft,
  event: SampleReady & InputEvent,
  named: readonly string[],
): readonly SampleDropped[] {
  if (named.length === 0) return [];
  const samples = draft.table<EligibleSample>('sample');
  return [...samples.entries()].flatMap(([row, sample]) => {
    const { wishes = [], without = [], sampleId } = sample;
    const old = wishes.filter((wish) => named.some((later) => contradict(later, wish)));
    if (sample.key !== event.data.key || old.length === 0 || isAfter(sample.said, event.data.said)) return [];
    const gone = [...new Set([...without, ...old])];
    if (wishes.some((wish) => !gone.includes(wish))) {
      samples.set(row, { ...sample, without: gone });
      return [];
    }
    samples.delete(row);
    noteLeft(draft, sampleId, event);
    return [
      droppedSample(event, { sampleId, adapter: event.subject, reason: 'contradicted', rule: old.join(' ') }),
    ];
  });
}

function wishEvent(event: SampleReady, { wish, kind, corrections, good }: WishChange): ClawLoopEvent {
  const { adapter, key, sampleId } = event.data;
  const data = { adapter, ...defined({ key }), wish, corrections, good, by: event.id };
  const id = (change: string) => `${sampleId}/${change}/${wish}`;
  return kind === 'set-aside'
    ? WishSetAside.create({ ...envelopeOf(event), id: id('set-aside'), data })
    : WishTakenUp.create({ ...envelopeOf(event), id: id('taken-up'), data: { ...data, why: kind } });
}

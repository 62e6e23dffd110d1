import type { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { SampleDropped } from '../../shared/events/sample-dropped.ts';
import type { SampleReady } from '../../shared/events/sample-ready.ts';
import { WishSetAside } from '../../shared/events/wish-set-aside.ts';
import { WishTakenUp } from '../../shared/events/wish-taken-up.ts';
import type { InputEvent } from '../../shared/log/fold.ts';
import type { Draft } from '../../shared/log/rows.ts';
import { contradict } from '../../shared/wishes/wish-id.ts';
import { noteLeft } from './known-samples.ts';
import type { EligibleSample } from './pick-samples.ts';
import { facts } from './source.ts';
import { type NotedWishes, noteWishes, standingWishes, type WishChange } from './wish-record.ts';

export type SampleWishes = {
  /** of the sample in the pool; absent: it does not come there */
  readonly inPool?: Pick<EligibleSample, 'wishes' | 'without' | 'takes'>;
  /** samples that left the pool */
  readonly left: number;
  readonly emit: readonly ClawLoopEvent[];
};

/**
 * What a sample that comes says of its person's wishes: it is dropped where all that it asks for is set aside,
 * and older samples that wait leave what it contradicts. The latest wish counts.
 */
export function takeWishes(
  draft: Draft,
  event: SampleReady & InputEvent,
  {
    patience,
    stand = false,
  }: { readonly patience: number | undefined; readonly stand?: boolean | undefined },
): SampleWishes {
  if (patience === undefined) return { inPool: {}, left: 0, emit: [] };
  const noted = noteWishes(draft, event, patience);
  // a guess contradicts nothing that was said
  const older = event.data.inferred ? [] : dropContradicted(draft, event, noted.told);
  const emit = [...noted.changes.map((change) => factOf(event, change)), ...older];
  const { told, setAside } = noted;
  if (told.length > 0 && setAside.length === told.length)
    return { left: older.length, emit: [...emit, notLearned(event, noted)] };
  const inPool = {
    ...(told.length === 0 ? {} : { wishes: told }),
    ...(setAside.length === 0 ? {} : { without: setAside }),
    ...(stand ? takesOf(event.data) : {}),
  };
  return { inPool, left: older.length, emit };
}

/**
 * What a sample's place in a batch says of wishes. Those that stand now count, not those that stood when the
 * person spoke.
 */
export function wishesInBatch(
  draft: Draft,
  { key, wishes = [], without = [], takes }: EligibleSample,
  stand: boolean | undefined,
): Pick<BatchSubmitted['data']['samples'][number], 'without' | 'standing'> {
  const told = wishes.filter((wish) => !without.includes(wish));
  const standing = !stand || takes === undefined ? [] : standingWishes(draft, key, takes);
  const beside = standing.filter(
    (kind) => !told.some((one) => one === kind || contradict(one, kind) || contradict(kind, one)),
  );
  return {
    ...(without.length === 0 ? {} : { without }),
    ...(beside.length === 0 ? {} : { standing: beside }),
  };
}

/** What only followed from a verdict, came of a tool, or was done without a word, is nobody's opinion of a wish. */
function takesOf({ verdict, source, hints, ...data }: SampleReady['data']): Pick<EligibleSample, 'takes'> {
  const { soft, evidence, carried, advantage } = data;
  const isDerived = soft || [evidence, carried, advantage].some((one) => one !== undefined);
  const isSaid = source !== 'reward' && !isDerived;
  if (!isSaid || (verdict === 0 ? hints.length === 0 : verdict > 0 && hints.length > 0)) return {};
  return { takes: verdict > 0 ? 'praise' : 'complaint' };
}

const notLearned = (event: SampleReady & InputEvent, { told, changes }: NotedWishes): SampleDropped => {
  const now = changes.find(({ kind }) => kind === 'set-aside');
  const rule = now === undefined ? told.join(' ') : `${told.join(' ')}: ${now.corrections} corrections`;
  return dropSample(event, event.data.sampleId, 'set-aside', rule);
};

/** Their verdicts were about the contrary: they go where nothing else is left of them. */
function dropContradicted(
  draft: Draft,
  event: SampleReady & InputEvent,
  told: readonly string[],
): readonly SampleDropped[] {
  if (told.length === 0) return [];
  const samples = draft.table<EligibleSample>('sample');
  return [...samples.entries()].flatMap(([row, sample]) => {
    const { wishes = [], without = [], sampleId } = sample;
    const old = wishes.filter((wish) => told.some((one) => contradict(one, wish)));
    if (sample.key !== event.data.key || old.length === 0) return [];
    const gone = [...new Set([...without, ...old])];
    if (wishes.some((wish) => !gone.includes(wish))) {
      samples.set(row, { ...sample, without: gone });
      return [];
    }
    samples.delete(row);
    noteLeft(draft, sampleId, event);
    return [dropSample(event, sampleId, 'contradicted', old.join(' '))];
  });
}

function factOf(event: SampleReady, { wish, kind, corrections, good }: WishChange): ClawLoopEvent {
  const { adapter, key, sampleId } = event.data;
  const data = { adapter, ...(key === undefined ? {} : { key }), wish, corrections, good, by: event.id };
  const id = (what: string) => `${sampleId}/${what}/${wish}`;
  return kind === 'set-aside'
    ? WishSetAside.create({ ...facts(event), id: id('set-aside'), data })
    : WishTakenUp.create({ ...facts(event), id: id('taken-up'), data: { ...data, why: kind } });
}

const dropSample = (
  event: ClawLoopEvent,
  sampleId: string,
  reason: SampleDropped['data']['reason'],
  rule: string,
) =>
  SampleDropped.create({
    ...facts(event),
    id: `${sampleId}/dropped`,
    data: { sampleId, adapter: event.subject, reason, rule },
  });

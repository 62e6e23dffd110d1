import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { JudgmentRevised } from '../../shared/events/judgment-revised.ts';
import type { SampleDropped } from '../../shared/events/sample-dropped.ts';
import { revisedSampleId } from '../../shared/events/sample-id.ts';
import { SampleWithdrawn } from '../../shared/events/sample-withdrawn.ts';
import type { LearningMethod } from '../../shared/events/training-settings.ts';
import type { TurnWithdrawn } from '../../shared/events/turn-withdrawn.ts';
import { defined } from '../../shared/lang/defined.ts';
import type { DeferredEvent } from '../../shared/log/fold.ts';
import { secretKindIn } from '../../shared/secrets/find-secrets.ts';
import type { EpochRow, SettledTurn, Tables } from './assemble-tables.ts';
import type { AssembleSettings } from './fold-settings.ts';
import { droppedSample, readySample } from './sample-facts.ts';
import { envelopeOf } from './source.ts';

type Reason = SampleWithdrawn['data']['reason'];
type WithdrawalReason = TurnWithdrawn['data']['reason'];

/** Whether a turn has what its method learns from: a verdict, a hint, or either. */
export const isEffective = (method: LearningMethod, score: number, hints: readonly string[]): boolean =>
  (method !== 'opd' && score !== 0) || (method !== 'binary' && hints.length > 0);

/**
 * Makes another sample of a turn whose judgment was revised. A new verdict replaces the sample with the old
 * verdict, unless that is already in a batch. A hint alone adds a sample without a verdict, because a verdict
 * trains once.
 */
export function onRevised(
  state: Tables,
  event: JudgmentRevised,
  methodOf: (adapter: string) => LearningMethod,
  { datesSamples = false }: Pick<AssembleSettings, 'datesSamples'>,
): readonly (SampleDropped | SampleWithdrawn | DeferredEvent)[] {
  const { turnId, n, score, source, advantage, hints, repeats } = event.data;
  const settled = state.settledTurns.get(turnId);
  const sampleId = revisedSampleId(turnId, n);
  // The judge forgets turns by its own clock, so it may remember one for longer.
  if (settled === undefined)
    return event.data.adapter === undefined
      ? []
      : [droppedSample(event, { sampleId, adapter: event.data.adapter, reason: 'too-late' })];
  const { adapter, epoch, at } = settled;
  // The judge may have revised the verdict before it read the withdrawal.
  if (settled.withdrawn !== undefined)
    return [droppedSample(event, { sampleId, adapter, reason: settled.withdrawn })];
  const pending = state.zerosOf(epoch).get(turnId);
  const secret = secretKindIn(hints);
  const method = methodOf(adapter);
  const teaches = secret === undefined && isEffective(method, score ?? 0, hints);
  const isAnother = score !== null || (pending?.waits === true && teaches);
  const isPending = pending !== undefined;
  const corrected = isAnother ? retractSample(state, { event, turnId, settled, isPending }) : [];
  // the person likes the answer, so hints from supposed complaints are refuted
  const isRefuted = datesSamples && source === 'feedback' && (score ?? 0) > 0;
  const refuted = isRefuted ? settled.others.map((id) => withdrawn(event, id, adapter, 'corrected')) : [];
  const outdated = [...corrected, ...refuted];
  const others = isRefuted ? [] : settled.others;
  if (!teaches) {
    const reason = secret !== undefined ? 'secret' : method === 'opd' ? 'no-hint' : 'no-verdict';
    state.settledTurns.set(turnId, { ...(isAnother ? withoutVerdict(settled) : settled), others });
    return [...outdated, droppedSample(event, { sampleId, adapter, reason, rule: secret })];
  }
  const after = isAnother
    ? { ...withoutVerdict(settled), verdict: sampleId, others }
    : { ...settled, others: [...others, sampleId] };
  state.settledTurns.set(turnId, after);
  const row = state.epochs.get(epoch);
  if (row !== undefined) state.epochs.set(epoch, { ...row, effective: true, best: null });
  const verdict = {
    verdict: score ?? 0,
    source,
    soft: false,
    hints,
    ...defined({ advantage, repeats: datesSamples ? repeats : undefined }),
  };
  // what is not a repetition was said now
  const said = !datesSamples ? undefined : repeats ? settled.said : event.time;
  const turn = { turnId, sampleId, adapter, epoch, at, ...defined({ said }) };
  return [...outdated, readySample(event, turn, verdict)];
}

/** A turn whose verdict is replaced. A call then has one of its own. */
const withoutVerdict = ({ verdict: _, carried: __, ...settled }: SettledTurn): SettledTurn => settled;

type Retracted = {
  readonly event: JudgmentRevised;
  readonly turnId: string;
  readonly settled: SettledTurn;
  /** its sample waits for the end of its session */
  readonly isPending: boolean;
};

/** Takes back the sample, ready or pending, that has a turn's previous verdict. */
export function retractSample(state: Tables, { event, turnId, settled, isPending }: Retracted) {
  const { adapter, epoch, verdict } = settled;
  const calls = state.callsOf(epoch);
  if (calls.get(turnId) !== undefined) {
    // It was waiting for the verdict of a later answer and now has its own.
    calls.delete(turnId);
    return [droppedSample(event, { sampleId: turnId, adapter, reason: 'corrected' })];
  }
  if (isPending) return [withdrawZero(state, epoch, turnId, { event, reason: 'corrected' })];
  return verdict === undefined ? [] : [withdrawn(event, verdict, adapter, 'corrected')];
}

/** Notes that the sample with a turn's verdict is ready. */
export function noteReady(state: Tables, turnId: string): void {
  const settled = state.settledTurns.get(turnId);
  if (settled !== undefined) state.settledTurns.set(turnId, { ...settled, verdict: turnId });
}

/** Withdraws all samples of a turn; undefined: the turn is no longer known. */
export function withdrawSettled(
  state: Tables,
  event: TurnWithdrawn,
  { withdrawsSpent }: Pick<AssembleSettings, 'withdrawsSpent'>,
): readonly SampleWithdrawn[] | undefined {
  const { turnId, reason } = event.data;
  const settled = state.settledTurns.get(turnId);
  if (settled === undefined) return undefined;
  noteWithdrawn(state, turnId, settled, reason);
  const known = [...(settled.verdict === undefined ? [] : [settled.verdict]), ...settled.others];
  const samples = known.length === 0 && withdrawsSpent ? [turnId] : known;
  return samples.map((sampleId) => withdrawn(event, sampleId, settled.adapter, reason));
}

/** Notes that no later judgment of a turn makes a sample. */
export const noteWithdrawn = (
  state: Tables,
  turnId: string,
  { adapter, epoch, at }: Pick<SettledTurn, 'adapter' | 'epoch' | 'at'>,
  reason: WithdrawalReason,
): void => state.settledTurns.set(turnId, { adapter, epoch, at, others: [], withdrawn: reason });

/** Withdraws a ready sample; `submit` drops it if it is in no batch. */
export const withdrawn = (event: ClawLoopEvent, sampleId: string, adapter: string, reason: Reason) =>
  SampleWithdrawn.create({
    ...envelopeOf(event),
    id: `${sampleId}/withdrawn`,
    data: { sampleId, adapter, reason },
  });

/** Drops a pending turn that was judged 0. */
export function withdrawZero(
  state: Tables,
  epoch: string,
  turnId: string,
  { event, reason }: { readonly event: ClawLoopEvent; readonly reason: Reason },
): SampleDropped {
  const zeros = state.zerosOf(epoch);
  const { adapter } = zeros.get(turnId)!;
  zeros.delete(turnId);
  let best: EpochRow['best'] = null;
  for (const [other, { mean = 0, hints = [] }] of zeros.entries())
    best = betterOf(best, { turnId: other, mean, hints });
  const row = state.epochs.get(epoch)!;
  const isBest = row.best?.turnId === turnId;
  state.epochs.set(epoch, { ...row, zeros: row.zeros - 1, ...defined({ best: isBest ? best : undefined }) });
  return droppedSample(event, { sampleId: turnId, adapter, reason });
}

export const betterOf = (best: EpochRow['best'], other: NonNullable<EpochRow['best']>): EpochRow['best'] =>
  Math.abs(other.mean) > Math.abs(best?.mean ?? 0) ? other : best;

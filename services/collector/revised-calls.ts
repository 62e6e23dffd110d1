import type { JudgmentRevised } from '../../shared/events/judgment-revised.ts';
import type { SampleDropped } from '../../shared/events/sample-dropped.ts';
import { carriedSampleId } from '../../shared/events/sample-id.ts';
import type { SampleWithdrawn } from '../../shared/events/sample-withdrawn.ts';
import { defined } from '../../shared/lang/defined.ts';
import type { DeferredEvent } from '../../shared/log/fold.ts';
import type { CarriedVerdict, Tables } from './assemble-tables.ts';
import { blameOrPraise, carriedVerdict, discounted } from './carried-verdicts.ts';
import { retractSample } from './revised-samples.ts';
import { readySample } from './sample-facts.ts';

/** Notes the calls that led to an answer, latest first, for a later verdict on it. */
export function noteCalls({ settledTurns }: Tables, answer: string, calls: readonly string[]): void {
  const settled = settledTurns.get(answer);
  if (settled !== undefined && calls.length > 0) settledTurns.set(answer, { ...settled, calls });
}

/**
 * Replaces the verdicts of the calls that led to an answer by its revised verdict, discounted by distance. A call with a
 * verdict of its own keeps it.
 */
export function reviseCalls(
  state: Tables,
  event: JudgmentRevised,
  discount: number,
): readonly (SampleDropped | SampleWithdrawn | DeferredEvent)[] {
  const { turnId, n, score } = event.data;
  const { calls = [], withdrawn } = state.settledTurns.get(turnId) ?? {};
  if (score === null || withdrawn !== undefined) return [];
  let carried: CarriedVerdict | null = blameOrPraise(event.data);
  return calls.flatMap((id) => {
    carried = carried && discounted(carried, discount);
    return reviseCall(state, event, { id, carried, n });
  });
}

function reviseCall(
  state: Tables,
  event: JudgmentRevised,
  { id, carried, n }: { readonly id: string; readonly carried: CarriedVerdict | null; readonly n: number },
): readonly (SampleDropped | SampleWithdrawn | DeferredEvent)[] {
  const waiting = state.turns.get(id);
  if (waiting?.carried !== undefined) {
    state.turns.set(id, { ...waiting, carried });
    return [];
  }
  const settled = state.settledTurns.get(id);
  if (!settled?.carried || settled.withdrawn !== undefined) return [];
  const isPending = state.zerosOf(settled.epoch).get(id) !== undefined;
  if (carried === null && isPending) return [];
  const outdated = retractSample(state, { event, turnId: id, settled, isPending });
  const { verdict: _, ...without } = settled;
  if (carried === null) {
    state.settledTurns.set(id, without);
    return outdated;
  }
  const sampleId = carriedSampleId(id, n);
  state.settledTurns.set(id, { ...without, verdict: sampleId });
  const row = state.epochs.get(settled.epoch);
  if (row !== undefined) state.epochs.set(settled.epoch, { ...row, effective: true, best: null });
  const { adapter, epoch, at, said } = settled;
  const turn = { turnId: id, sampleId, adapter, epoch, at, ...defined({ said }) };
  return [...outdated, readySample(event, turn, carriedVerdict(carried))];
}

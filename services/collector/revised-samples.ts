import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { JudgmentRevised } from '../../shared/events/judgment-revised.ts';
import type { SampleDropped } from '../../shared/events/sample-dropped.ts';
import { revisedSampleId } from '../../shared/events/sample-id.ts';
import { SampleWithdrawn } from '../../shared/events/sample-withdrawn.ts';
import type { LearningMethod } from '../../shared/events/training-settings.ts';
import type { TurnWithdrawn } from '../../shared/events/turn-withdrawn.ts';
import type { DeferredEvent } from '../../shared/log/fold.ts';
import { secretKindIn } from '../../shared/secrets/find-secrets.ts';
import type { EpochRow, Tables, ToldTurn } from './assemble-tables.ts';
import { dropped, ready } from './sample-facts.ts';
import { facts } from './source.ts';

type Reason = SampleWithdrawn['data']['reason'];
type TakenBack = TurnWithdrawn['data']['reason'];

/** Whether a turn teaches what the method learns from: a verdict, a hint, or either. */
export const isEffective = (method: LearningMethod, score: number, hints: readonly string[]): boolean =>
  (method !== 'opd' && score !== 0) || (method !== 'binary' && hints.length > 0);

/**
 * Another verdict takes the place of the sample that holds the one before, as far as that is in no batch yet: one
 * that has trained is answered by the new one. A hint alone comes beside it, without a verdict: that trains once.
 */
export function onRevised(
  state: Tables,
  event: JudgmentRevised,
  methodOf: (adapter: string) => LearningMethod,
): readonly (SampleDropped | SampleWithdrawn | DeferredEvent)[] {
  const { turnId, n, score, source, advantage, hints } = event.data;
  const told = state.told.get(turnId);
  const sampleId = revisedSampleId(turnId, n);
  // the judge remembers a turn by a clock of its own, so it may remember one for longer
  if (told === undefined)
    return event.data.adapter === undefined ? [] : [dropped(event, sampleId, event.data.adapter, 'too-late')];
  const { adapter, epoch, at } = told;
  // the judge may have read the verdict before it read that the turn is taken back
  if (told.withdrawn !== undefined) return [dropped(event, sampleId, adapter, told.withdrawn)];
  const pending = state.zerosOf(epoch).get(turnId);
  const secret = secretKindIn(hints);
  const method = methodOf(adapter);
  const teaches = secret === undefined && isEffective(method, score ?? 0, hints);
  const isAnother = score !== null || (pending?.waits === true && teaches);
  const outdated = isAnother ? takeBack(state, event, told, pending !== undefined) : [];
  if (!teaches) {
    const reason = secret !== undefined ? 'secret' : method === 'opd' ? 'no-hint' : 'no-verdict';
    state.told.set(turnId, isAnother ? withoutVerdict(told) : told);
    return [...outdated, dropped(event, sampleId, adapter, reason, secret)];
  }
  const after = isAnother ? { ...told, verdict: sampleId } : { ...told, others: [...told.others, sampleId] };
  state.told.set(turnId, after);
  const row = state.epochs.get(epoch);
  if (row !== undefined) state.epochs.set(epoch, { ...row, effective: true, best: null });
  const verdict = {
    ...{ verdict: score ?? 0, source, soft: false, hints },
    ...(advantage === undefined ? {} : { advantage }),
  };
  return [...outdated, ready(event, { turnId, sampleId, adapter, epoch, at }, verdict)];
}

const withoutVerdict = ({ verdict: _, ...told }: ToldTurn): ToldTurn => told;

function takeBack(state: Tables, event: JudgmentRevised, told: ToldTurn, isPending: boolean) {
  const { turnId } = event.data;
  const calls = state.callsOf(told.epoch);
  if (calls.get(turnId) !== undefined) {
    // it waits for the verdict of a later answer, and has one of its own now
    calls.delete(turnId);
    return [dropped(event, turnId, told.adapter, 'corrected')];
  }
  if (isPending) return [withdrawZero(state, told.epoch, turnId, { event, reason: 'corrected' })];
  return told.verdict === undefined ? [] : [withdrawn(event, told.verdict, told.adapter, 'corrected')];
}

/** Notes that the sample which holds a turn's verdict is ready. */
export function noteReady(state: Tables, turnId: string): void {
  const told = state.told.get(turnId);
  if (told !== undefined) state.told.set(turnId, { ...told, verdict: turnId });
}

/** All samples of a turn that is taken back; undefined: it is not remembered. */
export function withdrawTold(
  state: Tables,
  event: ClawLoopEvent,
  turnId: string,
  reason: TakenBack,
): readonly SampleWithdrawn[] | undefined {
  const told = state.told.get(turnId);
  if (told === undefined) return undefined;
  noteWithdrawn(state, turnId, told, reason);
  const samples = [...(told.verdict === undefined ? [] : [told.verdict]), ...told.others];
  return samples.map((sampleId) => withdrawn(event, sampleId, told.adapter, reason));
}

/** Notes that no later judgment of a turn makes a sample. */
export const noteWithdrawn = (
  state: Tables,
  turnId: string,
  { adapter, epoch, at }: Pick<ToldTurn, 'adapter' | 'epoch' | 'at'>,
  reason: TakenBack,
): void => state.told.set(turnId, { adapter, epoch, at, others: [], withdrawn: reason });

/** Dropped where it still waits; a sample that is ready is dropped by whoever forms the batches. */
export const withdrawn = (event: ClawLoopEvent, sampleId: string, adapter: string, reason: Reason) =>
  SampleWithdrawn.create({
    ...facts(event),
    id: `${sampleId}/withdrawn`,
    data: { sampleId, adapter, reason },
  });

/** Of a session's turns without a verdict, one less. */
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
  state.epochs.set(epoch, { ...row, zeros: row.zeros - 1, ...(isBest ? { best } : {}) });
  return dropped(event, turnId, adapter, reason);
}

export const betterOf = (best: EpochRow['best'], other: NonNullable<EpochRow['best']>): EpochRow['best'] =>
  Math.abs(other.mean) > Math.abs(best?.mean ?? 0) ? other : best;

import type { JudgmentReached } from '../../shared/events/judgment-reached.ts';
import type { JudgmentRevised } from '../../shared/events/judgment-revised.ts';
import type { Position } from '../../shared/events/position.ts';
import type { SessionClosed } from '../../shared/events/session-closed.ts';
import type { TurnCompleted } from '../../shared/events/turn-completed.ts';
import type { TurnWithdrawn } from '../../shared/events/turn-withdrawn.ts';
import type { VerdictRecorded } from '../../shared/events/verdict-recorded.ts';
import { defined } from '../../shared/lang/defined.ts';
import type { Fold, InputEvent } from '../../shared/log/fold.ts';
import { openDraft, type Table } from '../../shared/log/rows.ts';
import { emptyEpoch, type Tables, tables } from './assemble-tables.ts';
import { noteCall, nothingCarried, settleCalls, withdrawCall } from './carried-verdicts.ts';
import type { AssembleSettings } from './fold-settings.ts';
import { encoded } from './lane-tables.ts';
import { noteCalls, reviseCalls } from './revised-calls.ts';
import { noteWithdrawn, onRevised, withdrawn, withdrawSettled, withdrawZero } from './revised-samples.ts';
import { droppedSample } from './sample-facts.ts';
import { finish, methodOf, type SampleEvent, settleTurn } from './settle-turn.ts';
import { verdictOf, verdictOfSkipped } from './verdict-of.ts';

/**
 * Every completed turn becomes one `sample.ready` or one `sample.dropped`, and its verdict is recorded for the
 * version that answered. turns -> training.
 */
export const assemble: Fold<AssembleSettings> = {
  name: 'assemble',
  reads: 'turns',
  writes: 'training',
  on: (rows, event, at, settings) => {
    const draft = openDraft(rows);
    const emit = react(tables(draft), event, at, settings);
    return { changes: draft.changes(), emit };
  },
};

function react(state: Tables, event: InputEvent, at: Position, settings: AssembleSettings) {
  switch (event.type) {
    case 'turn.completed':
      onTurn(state, event, { at, settings });
      return [];
    case 'turn.skipped':
      return settings.recordsVerdicts ? verdictOfSkipped(event) : [];
    case 'turns.forgotten':
      state.settledIds.forgetAll();
      return [];
    case 'judgment.reached':
      return onJudgment(state, event, settings);
    case 'judgment.revised':
      return onJudgmentRevised(state, event, settings);
    case 'turn.withdrawn':
      return onWithdrawn(state, event, settings);
    case 'session.closed':
      if (settings.sweepsAtClose) state.settledIds.sweep(event);
      return onClosed(state, event, settings);
    default:
      return [];
  }
}

const epochName = ({ session, epoch }: { readonly session: string; readonly epoch: string }) =>
  encoded(`${session}@${epoch}`);

function onTurn(
  state: Tables,
  { data, time }: TurnCompleted,
  { at, settings }: { readonly at: Position; readonly settings: AssembleSettings },
): void {
  const { turns, epochs, settledIds: settled } = state;
  if (turns.get(data.turnId) !== undefined || settled.has(data.turnId)) return;
  const epoch = epochName(data);
  const before = epochs.get(epoch) ?? emptyEpoch;
  const carries = settings.carryDiscount !== undefined && methodOf(settings)(data.adapter) !== 'opd';
  const { row, call } = carries ? noteCall(state, epoch, before, data) : { row: before, call: {} };
  const settle = data.settle === 'reward' ? data.settle : undefined;
  const { version, key } = data;
  const answered = settings.recordsVerdicts && settle === undefined ? { version, key } : undefined;
  const said = settings.datesSamples && settle === undefined ? time : undefined;
  turns.set(data.turnId, {
    epoch,
    adapter: data.adapter,
    at,
    ...defined({ settle, answered, said }),
    ...call,
  });
  epochs.set(epoch, { ...row, waiting: row.waiting + 1 });
}

function onJudgment(
  state: Tables,
  event: JudgmentReached,
  settings: AssembleSettings,
): readonly (SampleEvent | VerdictRecorded)[] {
  const turn = state.turns.get(event.data.turnId);
  if (turn === undefined) return [];
  const { carryDiscount } = settings;
  const { emit: ofCalls, calls } =
    carryDiscount === undefined ? nothingCarried : settleCalls(state, turn, event, carryDiscount);
  const settled = settleTurn(state, turn, event, settings);
  if (settings.carriesRevised) noteCalls(state, event.data.turnId, calls);
  return [...verdictOf(turn, event), ...ofCalls, ...settled];
}

/** A new verdict is that of the calls before the answer, too. */
function onJudgmentRevised(state: Tables, event: JudgmentRevised, settings: AssembleSettings) {
  const { carryDiscount, carriesRevised } = settings;
  const ofCalls =
    carriesRevised && carryDiscount !== undefined ? reviseCalls(state, event, carryDiscount) : [];
  return [...ofCalls, ...onRevised(state, event, methodOf(settings), settings)];
}

/** Drops a turn that has no sample yet. `submit` drops a sample that is already ready. */
function onWithdrawn(
  state: Tables,
  event: TurnWithdrawn,
  settings: AssembleSettings,
): readonly SampleEvent[] {
  const { turnId, adapter, reason } = event.data;
  const turn = state.turns.get(turnId);
  if (turn !== undefined) {
    const row = state.epochs.get(turn.epoch)!;
    state.turns.delete(turnId);
    state.settledIds.add(turnId, event);
    if (settings.revises && turn.settle !== 'reward') noteWithdrawn(state, turnId, turn, reason);
    state.epochs.set(turn.epoch, { ...row, waiting: row.waiting - 1 });
    return [
      droppedSample(event, { sampleId: turnId, adapter: turn.adapter, reason }),
      ...finish(state, turn.epoch, event, settings),
    ];
  }
  const zero = epochWith(state.zeros, turnId);
  if (zero !== undefined) {
    const others = withdrawSettled(state, event, {}) ?? [];
    return [withdrawZero(state, zero, turnId, { event, reason }), ...others];
  }
  const call = epochWith(state.calls, turnId);
  if (call !== undefined) return withdrawCall(state, call, event);
  const rewarded = epochWith(state.rewarded, turnId);
  if (rewarded !== undefined) return withdrawRewarded(state, rewarded, event);
  const known = withdrawSettled(state, event, settings);
  if (known !== undefined) return known;
  return adapter === undefined ? [] : [withdrawn(event, turnId, adapter, reason)];
}

/** The epoch of a turn in one of the tables. Reads all rows of the lane, which is fine for rare deletions. */
const epochWith = (table: Pick<Table<unknown>, 'entries'>, turnId: string): string | undefined =>
  [...table.entries()].find(([key]) => key.endsWith(`/${turnId}`))?.[0].split('/')[0];

function withdrawRewarded(state: Tables, epoch: string, event: TurnWithdrawn): readonly SampleEvent[] {
  const { turnId, reason } = event.data;
  const rewarded = state.rewardedOf(epoch);
  const { adapter } = rewarded.get(turnId)!;
  rewarded.delete(turnId);
  return [droppedSample(event, { sampleId: turnId, adapter, reason })];
}

function onClosed(state: Tables, event: SessionClosed, settings: AssembleSettings): readonly SampleEvent[] {
  const epoch = epochName(event.data);
  const row = state.epochs.get(epoch);
  if (row === undefined) return []; // the epoch has no completed turn
  const discarded = event.data.discard ? true : undefined;
  const { weigh } = event.data;
  state.epochs.set(epoch, { ...row, ...defined({ discarded, weigh }), closed: true });
  return finish(state, epoch, event, settings);
}

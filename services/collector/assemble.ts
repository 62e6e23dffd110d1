import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { JudgmentReached } from '../../shared/events/judgment-reached.ts';
import type { Position } from '../../shared/events/position.ts';
import type { SampleDropped } from '../../shared/events/sample-dropped.ts';
import type { SampleWithdrawn } from '../../shared/events/sample-withdrawn.ts';
import type { SessionClosed } from '../../shared/events/session-closed.ts';
import type { LearningMethod } from '../../shared/events/training-settings.ts';
import type { TurnCompleted } from '../../shared/events/turn-completed.ts';
import type { TurnWithdrawn } from '../../shared/events/turn-withdrawn.ts';
import type { DeferredEvent, Fold, InputEvent } from '../../shared/log/fold.ts';
import { openDraft, type Table } from '../../shared/log/rows.ts';
import { secretKindIn } from '../../shared/secrets/find-secrets.ts';
import {
  type EpochRow,
  emptyEpoch,
  type Tables,
  tables,
  type WaitingTurn,
  type ZeroTurn,
} from './assemble-tables.ts';
import {
  carriedVerdict,
  noteCall,
  releaseCalls,
  settleCalls,
  waitsForAnswer,
  withdrawCall,
} from './carried-verdicts.ts';
import { encoded } from './lane-tables.ts';
import {
  betterOf,
  isEffective,
  noteReady,
  noteWithdrawn,
  onRevised,
  withdrawn,
  withdrawTold,
  withdrawZero,
} from './revised-samples.ts';
import { dropped, ready } from './sample-facts.ts';

export type AssembleSettings = {
  /** a session without an effective sample contributes its most informative turn */
  readonly atLeastOne: boolean;
  /** what is learned from decides what an effective sample is; binary unless told */
  readonly method?: LearningMethod;
  /** Later evidence on a turn makes another sample of it. Absent: nothing does, as in logs of earlier programs. */
  readonly revises?: boolean;
  /** of a person's verdict, at each call of a tool that it is carried back over; absent: it is not */
  readonly carryDiscount?: number;
  /** of those adapters that learn by another method */
  readonly adapterMethods?: Readonly<Record<string, LearningMethod>>;
};

type Emitted = SampleDropped | SampleWithdrawn | DeferredEvent;

/** Every completed turn becomes one `sample.ready` or one `sample.dropped`. turns -> training. */
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
    case 'turns.forgotten':
      state.settled.forgetAll();
      return [];
    case 'judgment.reached':
      return onJudgment(state, event, settings);
    case 'judgment.revised':
      return onRevised(state, event, methodOf(settings));
    case 'turn.withdrawn':
      return onWithdrawn(state, event, settings);
    case 'session.closed':
      return onClosed(state, event, settings);
    default:
      return [];
  }
}

const epochName = ({ session, epoch }: { readonly session: string; readonly epoch: string }) =>
  encoded(`${session}@${epoch}`);

function onTurn(
  state: Tables,
  { data }: TurnCompleted,
  { at, settings }: { readonly at: Position; readonly settings: AssembleSettings },
): void {
  const { turns, epochs, settled } = state;
  if (turns.get(data.turnId) !== undefined || settled.has(data.turnId)) return;
  const epoch = epochName(data);
  const before = epochs.get(epoch) ?? emptyEpoch;
  const carries = settings.carryDiscount !== undefined && methodOf(settings)(data.adapter) !== 'opd';
  const { row, call } = carries ? noteCall(state, epoch, before, data) : { row: before, call: {} };
  const settle = data.settle === 'reward' ? { settle: data.settle } : {};
  turns.set(data.turnId, { epoch, adapter: data.adapter, at, ...settle, ...call });
  epochs.set(epoch, { ...row, waiting: row.waiting + 1 });
}

function onJudgment(state: Tables, event: JudgmentReached, settings: AssembleSettings): readonly Emitted[] {
  const turn = state.turns.get(event.data.turnId);
  if (turn === undefined) return [];
  const { carryDiscount } = settings;
  const ofCalls = carryDiscount === undefined ? [] : settleCalls(state, turn, event, carryDiscount);
  return [...ofCalls, ...settleTurn(state, turn, event, settings)];
}

function settleTurn(
  state: Tables,
  turn: WaitingTurn,
  event: JudgmentReached,
  settings: AssembleSettings,
): readonly Emitted[] {
  const { turnId, score, mean, source, advantage, hints } = event.data;
  const before = state.epochs.get(turn.epoch)!;
  const row = { ...before, waiting: before.waiting - 1 };
  state.turns.delete(turnId);
  state.settled.add(turnId, event);
  if (settings.revises && turn.settle !== 'reward')
    state.told.set(turnId, { ...{ adapter: turn.adapter, epoch: turn.epoch, at: turn.at }, others: [] });
  const settle = (after: EpochRow, emit: readonly Emitted[]) => {
    state.epochs.set(turn.epoch, after);
    return [...emit, ...finish(state, turn.epoch, event, settings)];
  };
  if (source === 'unavailable' || score === null)
    return settle(row, [
      dropped(event, turnId, turn.adapter, event.data.reason ?? whyUnavailable(turn, row)),
    ]);
  const secret = secretKindIn(hints);
  if (secret !== undefined) return settle(row, [dropped(event, turnId, turn.adapter, 'secret', secret)]);
  const method = methodOf(settings)(turn.adapter);
  if (method === 'opd' && hints.length === 0) {
    if (!settings.revises || source !== 'feedback')
      return settle(row, [dropped(event, turnId, turn.adapter, 'no-hint')]);
    state
      .zerosOf(turn.epoch)
      .set(turnId, { adapter: turn.adapter, at: turn.at, mean: 0, hints, waits: true });
    return settle({ ...row, zeros: row.zeros + 1 }, []);
  }
  const verdict = {
    verdict: score,
    source,
    soft: false,
    hints,
    ...(advantage !== undefined && { advantage }),
    ...(event.data.inferred !== undefined && { inferred: true as const }),
    ...(turn.call && source === 'votes' ? ({ evidence: 'tool' } as const) : {}),
  };
  if (source === 'reward') {
    // 0 is a score like any other
    state.heldOf(turn.epoch).set(turnId, { adapter: turn.adapter, at: turn.at, verdict });
    return settle({ ...row, held: (row.held ?? 0) + 1 }, []);
  }
  if (waitsForAnswer(turn, event.data)) {
    state.callsOf(turn.epoch).set(turnId, { adapter: turn.adapter, at: turn.at, mean });
    return settle(row, []);
  }
  const later = score === 0 && source === 'votes' && hints.length === 0 ? turn.carried : undefined;
  if (later) {
    noteReady(state, turnId);
    return settle({ ...row, effective: true }, [ready(event, { turnId, ...turn }, carriedVerdict(later))]);
  }
  const sample = ready(event, { turnId, ...turn }, verdict);
  if (isEffective(method, score, hints)) noteReady(state, turnId);
  if (source === 'implicit' && score !== 0 && hints.length === 0) return settle(row, [sample]);
  if (isEffective(method, score, hints)) {
    const less = dropZeros(state, turn.epoch, row, { event, which: ({ waits }) => !waits });
    const zeros = row.zeros - less.length;
    return settle({ ...row, effective: true, zeros, best: null }, [sample, ...less]);
  }
  if (row.effective) return settle(row, [dropped(event, turnId, turn.adapter, 'no-verdict')]);
  state.zerosOf(turn.epoch).set(turnId, { adapter: turn.adapter, at: turn.at, mean, hints });
  const best = betterOf(row.best, { turnId, mean, hints });
  return settle({ ...row, zeros: row.zeros + 1, best }, []);
}

const methodOf =
  (settings: AssembleSettings) =>
  (adapter: string): LearningMethod =>
    settings.adapterMethods?.[adapter] ?? settings.method ?? 'binary';

/** Dropped where it still waits here; a sample that is ready is dropped by whoever forms the batches. */
function onWithdrawn(state: Tables, event: TurnWithdrawn, settings: AssembleSettings): readonly Emitted[] {
  const { turnId, adapter, reason } = event.data;
  const turn = state.turns.get(turnId);
  if (turn !== undefined) {
    const row = state.epochs.get(turn.epoch)!;
    state.turns.delete(turnId);
    state.settled.add(turnId, event);
    if (settings.revises && turn.settle !== 'reward') noteWithdrawn(state, turnId, turn, reason);
    state.epochs.set(turn.epoch, { ...row, waiting: row.waiting - 1 });
    return [dropped(event, turnId, turn.adapter, reason), ...finish(state, turn.epoch, event, settings)];
  }
  const zero = epochIn(state.zeros, turnId);
  if (zero !== undefined) {
    const others = withdrawTold(state, event, turnId, reason) ?? [];
    return [withdrawZero(state, zero, turnId, { event, reason }), ...others];
  }
  const call = epochIn(state.calls, turnId);
  if (call !== undefined) return withdrawCall(state, call, event);
  const held = epochIn(state.held, turnId);
  if (held !== undefined) return withdrawHeld(state, held, event);
  const known = withdrawTold(state, event, turnId, reason);
  if (known !== undefined) return known;
  return adapter === undefined ? [] : [withdrawn(event, turnId, adapter, reason)];
}

/** By listing all rows of the lane: deletions are rare. */
const epochIn = (table: Pick<Table<unknown>, 'entries'>, turnId: string): string | undefined =>
  [...table.entries()].find(([key]) => key.endsWith(`/${turnId}`))?.[0].split('/')[0];

function withdrawHeld(state: Tables, epoch: string, event: TurnWithdrawn): readonly Emitted[] {
  const { turnId, reason } = event.data;
  const held = state.heldOf(epoch);
  const { adapter } = held.get(turnId)!;
  held.delete(turnId);
  return [dropped(event, turnId, adapter, reason)];
}

const whyUnavailable = ({ settle }: WaitingTurn, { discarded }: EpochRow) =>
  settle !== 'reward' ? 'unavailable' : discarded ? 'discarded' : 'no-reward';

function onClosed(state: Tables, event: SessionClosed, settings: AssembleSettings): readonly Emitted[] {
  const epoch = epochName(event.data);
  const row = state.epochs.get(epoch);
  if (row === undefined) return []; // no turn of it was completed
  const discarded = event.data.discard ? ({ discarded: true } as const) : {};
  state.epochs.set(epoch, { ...row, ...discarded, closed: true });
  return finish(state, epoch, event, settings);
}

/** A session has closed, here, when its closing was seen and all its turns are settled. */
function finish(
  state: Tables,
  epoch: string,
  event: ClawLoopEvent,
  settings: AssembleSettings,
): readonly Emitted[] {
  const { closed, waiting } = state.epochs.get(epoch)!;
  if (!closed || waiting > 0) return [];
  const emit: Emitted[] = [...releaseCalls(state, epoch, event)];
  const row = state.epochs.get(epoch)!;
  emit.push(...releaseHeld(state, epoch, row, event));
  if (settings.atLeastOne && !row.effective && row.best !== null) {
    const { turnId, mean, hints } = row.best;
    const zeros = state.zerosOf(epoch);
    const turn = { turnId, epoch, ...zeros.get(turnId)! };
    emit.push(ready(event, turn, { verdict: mean, source: 'votes', soft: true, hints }));
    zeros.delete(turnId);
    noteReady(state, turnId);
  }
  emit.push(...dropZeros(state, epoch, row, { event }));
  state.epochs.delete(epoch);
  return emit;
}

function dropZeros(
  state: Tables,
  epoch: string,
  { zeros: count }: EpochRow,
  {
    event,
    which = () => true,
  }: { readonly event: ClawLoopEvent; readonly which?: (zero: ZeroTurn) => boolean },
): readonly Emitted[] {
  if (count === 0) return []; // listing reads all rows of the lane
  const zeros = state.zerosOf(epoch);
  const gone = [...zeros.entries()].filter(([, zero]) => which(zero));
  return gone.map(([turnId, { adapter, waits }]) => {
    zeros.delete(turnId);
    return dropped(event, turnId, adapter, waits ? 'no-hint' : 'no-verdict');
  });
}

/** All that a session was rewarded for, at once; each tells how many more of its adapter follow. */
function releaseHeld(state: Tables, epoch: string, row: EpochRow, event: ClawLoopEvent): readonly Emitted[] {
  if (row.held === undefined) return [];
  const held = state.heldOf(epoch);
  const rows = [...held.entries()].toSorted(([, a], [, b]) => a.at.offset - b.at.offset);
  return rows.map(([turnId, { adapter, at, verdict }], index) => {
    held.delete(turnId);
    const following = rows.slice(index + 1).filter(([, other]) => other.adapter === adapter).length;
    return ready(event, { turnId, adapter, epoch, at }, { ...verdict, following });
  });
}

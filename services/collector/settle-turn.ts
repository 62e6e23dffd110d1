import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { JudgmentReached } from '../../shared/events/judgment-reached.ts';
import type { SampleDropped } from '../../shared/events/sample-dropped.ts';
import type { SampleWithdrawn } from '../../shared/events/sample-withdrawn.ts';
import type { LearningMethod } from '../../shared/events/training-settings.ts';
import { defined } from '../../shared/lang/defined.ts';
import type { DeferredEvent } from '../../shared/log/fold.ts';
import { secretKindIn } from '../../shared/secrets/find-secrets.ts';
import type { EpochRow, Tables, WaitingTurn, ZeroTurn } from './assemble-tables.ts';
import { carriedVerdict, noteCarried, releaseCalls, waitsForAnswer } from './carried-verdicts.ts';
import type { AssembleSettings } from './fold-settings.ts';
import { betterOf, isEffective, noteReady } from './revised-samples.ts';
import { droppedSample, readySample } from './sample-facts.ts';

export type SampleEvent = SampleDropped | SampleWithdrawn | DeferredEvent;

/** Settles a turn by its judgment: it becomes a sample, is dropped, or waits for the end of its session. */
export function settleTurn(
  state: Tables,
  turn: WaitingTurn,
  event: JudgmentReached,
  settings: AssembleSettings,
): readonly SampleEvent[] {
  const { turnId, score, mean, source, advantage, hints } = event.data;
  const { epoch, adapter, at } = turn;
  const before = state.epochs.get(epoch)!;
  const row = { ...before, waiting: before.waiting - 1 };
  state.turns.delete(turnId);
  state.settledIds.add(turnId, event);
  if (settings.revises && turn.settle !== 'reward')
    state.settledTurns.set(turnId, { adapter, epoch, at, others: [], ...defined({ said: turn.said }) });
  const settle = (after: EpochRow, emit: readonly SampleEvent[]) => {
    state.epochs.set(epoch, after);
    return [...emit, ...finish(state, epoch, event, settings)];
  };
  const drop = (reason: SampleDropped['data']['reason'], rule?: string) =>
    settle(row, [droppedSample(event, { sampleId: turnId, adapter, reason, rule })]);
  if (source === 'unavailable' || score === null) return drop(event.data.reason ?? whyUnavailable(turn, row));
  const secret = secretKindIn(hints);
  if (secret !== undefined) return drop('secret', secret);
  const method = methodOf(settings)(adapter);
  if (method === 'opd' && hints.length === 0) {
    if (!settings.revises || source !== 'feedback') return drop('no-hint');
    state.zerosOf(epoch).set(turnId, { adapter, at, mean: 0, hints, waits: true });
    return settle({ ...row, zeros: row.zeros + 1 }, []);
  }
  const isReward = source === 'reward' || source === 'reward+process';
  const verdict = {
    verdict: score,
    source: isReward ? ('reward' as const) : source,
    soft: false,
    hints,
    ...defined({
      advantage,
      inferred: event.data.inferred === undefined ? undefined : true,
      evidence: turn.call && source === 'votes' ? 'tool' : undefined,
    }),
  };
  if (isReward) {
    // A reward of 0 trains like any other.
    state.rewardedOf(epoch).set(turnId, { adapter, at, verdict });
    return settle({ ...row, held: (row.held ?? 0) + 1 }, []);
  }
  if (waitsForAnswer(turn, event.data)) {
    state.callsOf(epoch).set(turnId, { adapter, at, mean });
    return settle(row, []);
  }
  const later = score === 0 && source === 'votes' && hints.length === 0 ? turn.carried : undefined;
  if (later !== undefined) noteCarried(state, turnId);
  if (later) {
    noteReady(state, turnId);
    return settle({ ...row, effective: true }, [
      readySample(event, { turnId, ...turn }, carriedVerdict(later)),
    ]);
  }
  const sample = readySample(event, { turnId, ...turn }, verdict);
  if (isEffective(method, score, hints)) noteReady(state, turnId);
  if (source === 'implicit' && score !== 0 && hints.length === 0) return settle(row, [sample]);
  if (isEffective(method, score, hints)) {
    const less = dropZeros(state, epoch, row, { event, which: ({ waits }) => !waits });
    const zeros = row.zeros - less.length;
    return settle({ ...row, effective: true, zeros, best: null }, [sample, ...less]);
  }
  if (row.effective) return drop('no-verdict');
  state.zerosOf(epoch).set(turnId, { adapter, at, mean, hints });
  const best = betterOf(row.best, { turnId, mean, hints });
  return settle({ ...row, zeros: row.zeros + 1, best }, []);
}

export const methodOf =
  (settings: AssembleSettings) =>
  (adapter: string): LearningMethod =>
    settings.adapterMethods?.[adapter] ?? settings.method ?? 'binary';

const whyUnavailable = ({ settle }: WaitingTurn, { discarded }: EpochRow) =>
  settle !== 'reward' ? 'unavailable' : discarded ? 'discarded' : 'no-reward';

/** Releases the remaining turns of an epoch once it is closed and all its turns are settled. */
export function finish(
  state: Tables,
  epoch: string,
  event: ClawLoopEvent,
  settings: AssembleSettings,
): readonly SampleEvent[] {
  const { closed, waiting } = state.epochs.get(epoch)!;
  if (!closed || waiting > 0) return [];
  const emit: SampleEvent[] = [...releaseCalls(state, epoch, event)];
  const row = state.epochs.get(epoch)!;
  emit.push(...releaseRewarded(state, epoch, row, event));
  if (settings.atLeastOne && !row.effective && row.best !== null) {
    const { turnId, mean, hints } = row.best;
    const zeros = state.zerosOf(epoch);
    const turn = { turnId, epoch, ...zeros.get(turnId)! };
    emit.push(readySample(event, turn, { verdict: mean, source: 'votes', soft: true, hints }));
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
): readonly SampleEvent[] {
  if (count === 0) return []; // avoids reading all rows of the lane
  const zeros = state.zerosOf(epoch);
  const dropped = [...zeros.entries()].filter(([, zero]) => which(zero));
  return dropped.map(([turnId, { adapter, waits }]) => {
    zeros.delete(turnId);
    return droppedSample(event, { sampleId: turnId, adapter, reason: waits ? 'no-hint' : 'no-verdict' });
  });
}

/** Emits all rewarded samples of a session together. Each says how many more of its adapter follow. */
function releaseRewarded(
  state: Tables,
  epoch: string,
  row: EpochRow,
  event: ClawLoopEvent,
): readonly SampleEvent[] {
  if (row.held === undefined) return [];
  const rewarded = state.rewardedOf(epoch);
  const rows = [...rewarded.entries()].toSorted(([, a], [, b]) => a.at.offset - b.at.offset);
  return rows.map(([turnId, { adapter, at, verdict }], index) => {
    rewarded.delete(turnId);
    const following = rows.slice(index + 1).filter(([, other]) => other.adapter === adapter).length;
    const weight = row.weigh === 'attempt' ? 1 / rows.length : undefined;
    return readySample(
      event,
      { turnId, adapter, epoch, at },
      { ...verdict, following, ...defined({ weight }) },
    );
  });
}

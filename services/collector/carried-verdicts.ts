import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { JudgmentReached } from '../../shared/events/judgment-reached.ts';
import type { SampleDropped } from '../../shared/events/sample-dropped.ts';
import type { SampleWithdrawn } from '../../shared/events/sample-withdrawn.ts';
import type { TurnCompleted } from '../../shared/events/turn-completed.ts';
import type { TurnWithdrawn } from '../../shared/events/turn-withdrawn.ts';
import type { DeferredEvent } from '../../shared/log/fold.ts';
import type { CarriedVerdict, EpochRow, Tables, WaitingTurn } from './assemble-tables.ts';
import { betterOf, noteReady, withdrawSettled } from './revised-samples.ts';
import { droppedSample, readySample } from './sample-facts.ts';

/**
 * A person's verdict on an answer also applies to the tool calls that led to it. A tool result alone can only
 * count against a call: a failure is visible, but a call that worked may still have been the wrong one. Without
 * the person's verdict every judged call would score -1, and the policy would learn not to call tools.
 */

/** A carried verdict below this teaches almost nothing and would only take a place in a batch. */
const LEAST_CARRIED = 0.1;

/** The interaction that a tool call led to; undefined unless the next state is tool results only. */
const leadsTo = ({ settle, next, from }: TurnCompleted['data']): string | undefined =>
  settle === 'votes' && from !== null && next.length > 0 && next.every(({ role }) => role === 'tool')
    ? from
    : undefined;

/** Links a tool call to the interaction that it led to. @returns the row members that record this */
export function noteCall(
  { linksOf }: Tables,
  epoch: string,
  row: EpochRow,
  turn: TurnCompleted['data'],
): { readonly row: EpochRow; readonly call: Pick<WaitingTurn, 'call'> } {
  const next = leadsTo(turn);
  if (next === undefined) return { row, call: {} };
  linksOf(epoch).set(next, turn.turnId);
  return { row: { ...row, links: (row.links ?? 0) + 1 }, call: { call: true } };
}

/** Whether only a later answer can bring this turn a verdict. */
export const waitsForAnswer = (
  { call, carried }: WaitingTurn,
  { score, source, hints }: JudgmentReached['data'],
): boolean =>
  call === true && carried === undefined && score === 0 && source === 'votes' && hints.length === 0;

/**
 * The verdict that a judgment passes on to the turns before it. Undefined: the judged turn is itself a call,
 * and a person's verdict may still come. Null: nothing to pass on. A hint says what was wrong with the answer,
 * so the calls are not to blame; implicit evidence is too weak to be passed on.
 */
function verdictToCarry(
  turn: WaitingTurn,
  judgment: JudgmentReached['data'],
): CarriedVerdict | null | undefined {
  const { score, source, hints } = judgment;
  const isFromPerson = source === 'feedback' || (source === 'votes' && turn.call !== true);
  if (turn.call === true && !isFromPerson) return undefined;
  return isFromPerson ? blameOrPraise({ score, source, hints }) : null;
}

/** A person's verdict as their calls get it; null: it says nothing about them. */
export const blameOrPraise = ({
  score,
  source,
  hints,
}: {
  readonly score: number | null;
  readonly source: CarriedVerdict['source'];
  readonly hints: readonly string[];
}): CarriedVerdict | null =>
  score === null || score === 0 || (score < 0 && hints.length > 0)
    ? null
    : { verdict: score, source, steps: 0 };

export const discounted = (
  { verdict, source, steps }: CarriedVerdict,
  discount: number,
): CarriedVerdict | null =>
  Math.abs(verdict * discount) < LEAST_CARRIED
    ? null
    : { verdict: verdict * discount, source, steps: steps + 1 };

/** A carried verdict in the form that a sample takes. */
export const carriedVerdict = ({ verdict, source, steps }: CarriedVerdict) =>
  ({ verdict, source, soft: false, hints: [], evidence: 'tool', carried: steps }) as const;

/** Notes that a call has no verdict of its own, so that a later verdict on the answer is carried back to it, too. */
export function noteCarried({ settledTurns }: Tables, id: string): void {
  const settled = settledTurns.get(id);
  if (settled !== undefined) settledTurns.set(id, { ...settled, carried: true });
}

type CarryResult = {
  /** samples of calls that were judged earlier, oldest first */
  readonly emit: readonly DeferredEvent[];
  /** calls that were judged earlier and get no verdict */
  readonly released: readonly string[];
  /** all calls that led to the answer, latest first */
  readonly all: readonly string[];
};

type SettledCalls = {
  readonly emit: readonly (SampleDropped | DeferredEvent)[];
  /** all calls that led to the answer, latest first */
  readonly calls: readonly string[];
};
export const nothingCarried: SettledCalls = { emit: [], calls: [] };

/**
 * Carries the verdict of a turn back to the calls that led to it, latest first, multiplied by `discount` at
 * each call. A call that is not judged yet keeps the verdict until it is.
 */
function carryBack(state: Tables, turn: WaitingTurn, event: JudgmentReached, discount: number): CarryResult {
  const { epoch } = turn;
  let row = state.epochs.get(epoch)!;
  const verdict = verdictToCarry(turn, event.data);
  if (verdict === undefined || (row.links ?? 0) === 0) return { emit: [], released: [], all: [] };
  const links = state.linksOf(epoch);
  const calls = state.callsOf(epoch);
  const [emit, released, all]: [DeferredEvent[], string[], string[]] = [[], [], []];
  let [at, carried]: [string, CarriedVerdict | null] = [event.data.turnId, verdict];
  for (let id = links.get(at); id !== undefined; id = links.get(at)) {
    links.delete(at);
    all.push(id);
    row = { ...row, links: row.links! - 1 };
    carried = carried === null ? null : discounted(carried, discount);
    const [judged, waiting] = [calls.get(id), state.turns.get(id)];
    if (judged !== undefined) noteCarried(state, id);
    if (waiting !== undefined) state.turns.set(id, { ...waiting, carried });
    else if (judged !== undefined && carried === null) released.push(id);
    else if (judged !== undefined && carried !== null) {
      calls.delete(id);
      noteReady(state, id);
      emit.unshift(readySample(event, { turnId: id, epoch, ...judged }, carriedVerdict(carried)));
      row = { ...row, effective: true };
    }
    at = id;
  }
  state.epochs.set(epoch, row);
  return { emit, released, all };
}

/** Settles the calls before a judged turn. */
export function settleCalls(
  state: Tables,
  turn: WaitingTurn,
  event: JudgmentReached,
  discount: number,
): SettledCalls {
  const { emit, released, all } = carryBack(state, turn, event, discount);
  const dropped = released.flatMap((id) => releaseCall(state, turn.epoch, id, event));
  return { emit: [...emit, ...dropped], calls: all };
}

/** Treats a call that gets no verdict like any other turn judged 0. */
function releaseCall(
  state: Tables,
  epoch: string,
  turnId: string,
  event: ClawLoopEvent,
): readonly SampleDropped[] {
  const [calls, row] = [state.callsOf(epoch), state.epochs.get(epoch)!];
  const { adapter, at, mean } = calls.get(turnId)!;
  calls.delete(turnId);
  if (row.effective) return [droppedSample(event, { sampleId: turnId, adapter, reason: 'no-verdict' })];
  state.zerosOf(epoch).set(turnId, { adapter, at, mean, hints: [] });
  const best = betterOf(row.best, { turnId, mean, hints: [] });
  state.epochs.set(epoch, { ...row, zeros: row.zeros + 1, best });
  return [];
}

/** Releases all calls of a session that ended: no later answer can bring a verdict. */
export function releaseCalls(state: Tables, epoch: string, event: ClawLoopEvent): readonly SampleDropped[] {
  if (!state.epochs.get(epoch)!.links) return []; // avoids reading all rows of the lane
  for (const [next] of state.linksOf(epoch).entries()) state.linksOf(epoch).delete(next);
  return [...state.callsOf(epoch).entries()].flatMap(([id]) => releaseCall(state, epoch, id, event));
}

export function withdrawCall(
  state: Tables,
  epoch: string,
  event: TurnWithdrawn,
): readonly (SampleDropped | SampleWithdrawn)[] {
  const { turnId, reason } = event.data;
  const { adapter } = state.callsOf(epoch).get(turnId)!;
  state.callsOf(epoch).delete(turnId);
  return [
    droppedSample(event, { sampleId: turnId, adapter, reason }),
    ...(withdrawSettled(state, event, {}) ?? []),
  ];
}

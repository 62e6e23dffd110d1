import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { JudgmentReached } from '../../shared/events/judgment-reached.ts';
import type { SampleDropped } from '../../shared/events/sample-dropped.ts';
import type { SampleWithdrawn } from '../../shared/events/sample-withdrawn.ts';
import type { TurnCompleted } from '../../shared/events/turn-completed.ts';
import type { TurnWithdrawn } from '../../shared/events/turn-withdrawn.ts';
import type { DeferredEvent } from '../../shared/log/fold.ts';
import type { Carried, EpochRow, Tables, WaitingTurn } from './assemble-tables.ts';
import { betterOf, noteReady, withdrawTold } from './revised-samples.ts';
import { dropped, ready } from './sample-facts.ts';

/**
 * What a person says of an answer is also about the calls of tools that led to it. A tool's result alone can
 * only blame: a call that failed is known, one that worked may still have been the wrong one. Without the
 * person's word every verdict on a call would be a -1, and the policy would learn to call nothing.
 */

/** A verdict that has faded below this teaches next to nothing, and would take a place in a batch. */
const LEAST_CARRIED = 0.1;

/** Results of calls came next and nothing else; the interaction that showed them goes on from this turn. */
const leadsTo = ({ settle, next, from }: TurnCompleted['data']): string | undefined =>
  settle === 'votes' && from !== null && next.length > 0 && next.every(({ role }) => role === 'tool')
    ? from
    : undefined;

/** Notes that a turn led to another one. @returns what its rows say of that */
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

/** Whether a turn has no verdict but the one that a later answer may bring. */
export const waitsForAnswer = (
  { call, carried }: WaitingTurn,
  { score, source, hints }: JudgmentReached['data'],
): boolean =>
  call === true && carried === undefined && score === 0 && source === 'votes' && hints.length === 0;

/**
 * What a judgment says of the turns before. undefined: it is a call's itself, and a person's word is still to
 * come. null: nothing. A hint says what was wrong with the answer, so the calls are not to blame; implicit
 * evidence is too weak to be handed on.
 */
function wordOn(turn: WaitingTurn, judgment: JudgmentReached['data']): Carried | null | undefined {
  const { score, source, hints } = judgment;
  const isOfPerson = source === 'feedback' || (source === 'votes' && turn.call !== true);
  if (turn.call === true && !isOfPerson) return undefined;
  if (!isOfPerson || score === null || score === 0 || (score < 0 && hints.length > 0)) return null;
  return { verdict: score, source, steps: 0 };
}

const oneBack = ({ verdict, source, steps }: Carried, discount: number): Carried | null =>
  Math.abs(verdict * discount) < LEAST_CARRIED
    ? null
    : { verdict: verdict * discount, source, steps: steps + 1 };

/** A verdict on a later answer, as what the turn at hand is learned from. */
export const carriedVerdict = ({ verdict, source, steps }: Carried) =>
  ({ verdict, source, soft: false, hints: [], evidence: 'tool', carried: steps }) as const;

type CarriedBack = {
  /** samples of calls that were judged before, the earliest first */
  readonly emit: readonly DeferredEvent[];
  /** calls that were judged before, and have no verdict after all */
  readonly released: readonly string[];
};

/**
 * Hands the verdict of a turn to the calls that led to it, from the latest to the first, less by `discount` at
 * each. A call that is not judged yet keeps it until it is.
 */
function carryBack(state: Tables, turn: WaitingTurn, event: JudgmentReached, discount: number): CarriedBack {
  const { epoch } = turn;
  let row = state.epochs.get(epoch)!;
  const word = wordOn(turn, event.data);
  if (word === undefined || (row.links ?? 0) === 0) return { emit: [], released: [] };
  const links = state.linksOf(epoch);
  const calls = state.callsOf(epoch);
  const [emit, released]: [DeferredEvent[], string[]] = [[], []];
  let [at, carried]: [string, Carried | null] = [event.data.turnId, word];
  for (let id = links.get(at); id !== undefined; id = links.get(at)) {
    links.delete(at);
    row = { ...row, links: row.links! - 1 };
    carried = carried === null ? null : oneBack(carried, discount);
    const [judged, waiting] = [calls.get(id), state.turns.get(id)];
    if (waiting !== undefined) state.turns.set(id, { ...waiting, carried });
    else if (judged !== undefined && carried === null) released.push(id);
    else if (judged !== undefined && carried !== null) {
      calls.delete(id);
      noteReady(state, id);
      emit.unshift(ready(event, { turnId: id, epoch, ...judged }, carriedVerdict(carried)));
      row = { ...row, effective: true };
    }
    at = id;
  }
  state.epochs.set(epoch, row);
  return { emit, released };
}

/** What the judgment of a turn says of the calls before it. */
export function settleCalls(
  state: Tables,
  turn: WaitingTurn,
  event: JudgmentReached,
  discount: number,
): readonly (SampleDropped | DeferredEvent)[] {
  const { emit, released } = carryBack(state, turn, event, discount);
  return [...emit, ...released.flatMap((id) => releaseCall(state, turn.epoch, id, event))];
}

/** A call that gets no verdict is judged 0 like any other turn. */
function releaseCall(
  state: Tables,
  epoch: string,
  turnId: string,
  event: ClawLoopEvent,
): readonly SampleDropped[] {
  const [calls, row] = [state.callsOf(epoch), state.epochs.get(epoch)!];
  const { adapter, at, mean } = calls.get(turnId)!;
  calls.delete(turnId);
  if (row.effective) return [dropped(event, turnId, adapter, 'no-verdict')];
  state.zerosOf(epoch).set(turnId, { adapter, at, mean, hints: [] });
  const best = betterOf(row.best, { turnId, mean, hints: [] });
  state.epochs.set(epoch, { ...row, zeros: row.zeros + 1, best });
  return [];
}

/** Its session is over: no answer brings a verdict any more. */
export function releaseCalls(state: Tables, epoch: string, event: ClawLoopEvent): readonly SampleDropped[] {
  if (!state.epochs.get(epoch)!.links) return []; // listing reads all rows of the lane
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
  return [dropped(event, turnId, adapter, reason), ...(withdrawTold(state, event, turnId, reason) ?? [])];
}

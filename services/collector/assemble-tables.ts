import type { Position } from '../../shared/events/position.ts';
import type { TurnWithdrawn } from '../../shared/events/turn-withdrawn.ts';
import type { Draft } from '../../shared/log/rows.ts';
import { settledIds } from '../../shared/log/settled-ids.ts';
import type { Verdict } from './sample-facts.ts';

/** `turn/<turn id>`: waits for its judgment. */
export type WaitingTurn = {
  readonly epoch: string;
  readonly adapter: string;
  readonly at: Position;
  /** absent: by votes */
  readonly settle?: 'reward';
  /** results of calls came next, and no words of a person */
  readonly call?: true;
  /** of a later answer that was judged before it; null: that one says nothing; absent: it is not judged */
  readonly carried?: Carried | null;
};

/** A person's verdict on a later answer, discounted, and from how many turns away it comes. */
export type Carried = {
  readonly verdict: number;
  readonly source: 'votes' | 'feedback';
  readonly steps: number;
};

/** `call/<epoch>/<turn id>`: judged 0; its verdict is that of the answer that it led to. */
type CallTurn = {
  readonly adapter: string;
  readonly at: Position;
  readonly mean: number;
};

/** `zero/<epoch>/<turn id>`: judged 0; pending until its session has an effective sample or closes. */
export type ZeroTurn = {
  readonly adapter: string;
  readonly at: Position;
  /** absent in rows of earlier programs */
  readonly mean?: number;
  /** it has a verdict, and its adapter learns from hints alone: words may still bring one */
  readonly waits?: true;
  readonly hints?: readonly string[];
};

/** `held/<epoch>/<turn id>`: rewarded; comes with all others of its session, so that they train together. */
type HeldTurn = { readonly adapter: string; readonly at: Position; readonly verdict: Verdict };

/** What was told of a turn, for a day: later evidence makes another sample of it. */
export type ToldTurn = {
  readonly adapter: string;
  readonly epoch: string;
  readonly at: Position;
  /** samples of it that are ready and were not withdrawn: the one that holds its verdict, and others */
  readonly verdict?: string;
  readonly others: readonly string[];
  /** It was taken back for this reason, so no later judgment of it trains. */
  readonly withdrawn?: TurnWithdrawn['data']['reason'];
};

/** `epoch/<session>@<epoch>` */
export type EpochRow = {
  readonly closed: boolean;
  /** its client took it back */
  readonly discarded?: true;
  readonly effective: boolean;
  readonly waiting: number;
  /** rewarded; absent: none */
  readonly held?: number;
  /** calls that led to a turn which is not judged; absent: none */
  readonly links?: number;
  readonly zeros: number;
  /** of the zeros, the one with the largest mean vote by size; the first of equals */
  readonly best: { readonly turnId: string; readonly mean: number; readonly hints: readonly string[] } | null;
};

export const emptyEpoch: EpochRow = { closed: false, effective: false, waiting: 0, zeros: 0, best: null };

/** What `assemble` keeps of a lane until its sessions are settled. */
export const tables = (draft: Draft) => ({
  /** by turn; only under rules that know revised judgments */
  told: draft.table<ToldTurn>('settled-sample'),
  turns: draft.table<WaitingTurn>('turn'),
  epochs: draft.table<EpochRow>('epoch'),
  /** by `<epoch>/<turn id>` */
  held: draft.table<HeldTurn>('held'),
  heldOf: (epoch: string) => draft.table<HeldTurn>(`held/${epoch}`),
  zeros: draft.table<ZeroTurn>('zero'),
  zerosOf: (epoch: string) => draft.table<ZeroTurn>(`zero/${epoch}`),
  /** by `<epoch>/<turn id>` */
  calls: draft.table<CallTurn>('call'),
  callsOf: (epoch: string) => draft.table<CallTurn>(`call/${epoch}`),
  /** the turn of a call, by the interaction that it led to */
  linksOf: (epoch: string) => draft.table<string>(`link/${epoch}`),
  /** turns that wait for no judgment any more, though their sample may be held here */
  settled: settledIds(draft, (id) => {
    const told = draft.table<ToldTurn>('settled-sample');
    if (told.get(id) !== undefined) told.delete(id);
  }),
});
export type Tables = ReturnType<typeof tables>;

import type { Position } from '../../shared/events/position.ts';
import type { TurnWithdrawn } from '../../shared/events/turn-withdrawn.ts';
import type { Draft } from '../../shared/log/rows.ts';
import { settledIds } from '../../shared/log/settled-ids.ts';
import type { Verdict } from './sample-facts.ts';

/** `turn/<turn id>`: a turn that waits for its judgment. */
export type WaitingTurn = {
  readonly epoch: string;
  readonly adapter: string;
  readonly at: Position;
  /** the version that answered, and the access key; absent in rows of earlier programs */
  readonly answered?: { readonly version: number; readonly key: string };
  /** absent: settled by votes */
  readonly settle?: 'reward';
  /** time of its next state, RFC 3339; absent in rows of earlier programs */
  readonly said?: string;
  /** its next state is tool results only, without words of a person */
  readonly call?: true;
  /**
   * from a later answer that was judged first; null: nothing to carry; absent: that answer is not judged yet
   */
  readonly carried?: CarriedVerdict | null;
};

/** A person's verdict on a later answer, discounted, and the number of turns that it was carried over. */
export type CarriedVerdict = {
  readonly verdict: number;
  readonly source: 'votes' | 'feedback';
  readonly steps: number;
};

/** `call/<epoch>/<turn id>`: a tool call judged 0, which takes its verdict from the answer that it led to. */
type JudgedCall = {
  readonly adapter: string;
  readonly at: Position;
  readonly mean: number;
};

/** `zero/<epoch>/<turn id>`: judged 0, pending until its session has an effective sample or closes. */
export type ZeroTurn = {
  readonly adapter: string;
  readonly at: Position;
  /** absent in rows of earlier programs */
  readonly mean?: number;
  /** it has a verdict but no hint, and its adapter learns only from hints; later words may bring one */
  readonly waits?: true;
  readonly hints?: readonly string[];
};

/** `held/<epoch>/<turn id>`: rewarded, released with all others of its session so that they train together. */
type RewardedTurn = { readonly adapter: string; readonly at: Position; readonly verdict: Verdict };

/** A settled turn, kept for a day because later evidence makes another sample of it. */
export type SettledTurn = {
  readonly adapter: string;
  readonly epoch: string;
  readonly at: Position;
  /** its ready samples that were not withdrawn: the one with its verdict, and others */
  readonly verdict?: string;
  readonly others: readonly string[];
  /** time of its next state, RFC 3339; absent in rows of earlier programs */
  readonly said?: string;
  /** the calls that led to its answer, latest first; absent: none */
  readonly calls?: readonly string[];
  /** it is a call whose verdict is, or would be, that of a later answer */
  readonly carried?: true;
  /** why the turn was withdrawn; no later judgment of it trains */
  readonly withdrawn?: TurnWithdrawn['data']['reason'];
};

/** `epoch/<session>@<epoch>` */
export type EpochRow = {
  readonly closed: boolean;
  /** its rewarded samples together weigh as much as one; absent: each does */
  readonly weigh?: 'attempt';
  /** its client ended the session with `discard` */
  readonly discarded?: true;
  readonly effective: boolean;
  readonly waiting: number;
  /** number of rewarded turns; absent: none */
  readonly held?: number;
  /** number of calls that led to a turn which is not judged yet; absent: none */
  readonly links?: number;
  readonly zeros: number;
  /** the zero with the largest absolute mean vote; the first of equals */
  readonly best: { readonly turnId: string; readonly mean: number; readonly hints: readonly string[] } | null;
};

export const emptyEpoch: EpochRow = { closed: false, effective: false, waiting: 0, zeros: 0, best: null };

/** The rows that `assemble` keeps for a lane until its sessions are settled. */
export const tables = (draft: Draft) => ({
  /** by turn id; only with the setting `revises` */
  settledTurns: draft.table<SettledTurn>('settled-sample'),
  turns: draft.table<WaitingTurn>('turn'),
  epochs: draft.table<EpochRow>('epoch'),
  /** by `<epoch>/<turn id>` */
  rewarded: draft.table<RewardedTurn>('held'),
  rewardedOf: (epoch: string) => draft.table<RewardedTurn>(`held/${epoch}`),
  zeros: draft.table<ZeroTurn>('zero'),
  zerosOf: (epoch: string) => draft.table<ZeroTurn>(`zero/${epoch}`),
  /** by `<epoch>/<turn id>` */
  calls: draft.table<JudgedCall>('call'),
  callsOf: (epoch: string) => draft.table<JudgedCall>(`call/${epoch}`),
  /** id of a call's turn, by the interaction that the call led to */
  linksOf: (epoch: string) => draft.table<string>(`link/${epoch}`),
  /** turns that no longer wait for a judgment, although their sample may still be pending here */
  settledIds: settledIds(draft, (id) => {
    const settledTurns = draft.table<SettledTurn>('settled-sample');
    if (settledTurns.get(id) !== undefined) settledTurns.delete(id);
  }),
});
export type Tables = ReturnType<typeof tables>;

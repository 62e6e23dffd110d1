import { TinkerError } from './errors.ts';
import type { ServerUsage } from './training-server.ts';

type UsageKind = Exclude<keyof ServerUsage, 'requests'>;

export type Meter = {
  /** Counts tokens before they are sent. @throws BUDGET_SPENT; then nothing is counted */
  readonly charge: (kind: UsageKind, tokens: number) => void;
  readonly countRequest: () => void;
  readonly usage: () => ServerUsage;
};

export const totalTokens = ({ forwardTokens, trainedTokens, sampledTokens }: ServerUsage): number =>
  forwardTokens + trainedTokens + sampledTokens;

/**
 * Counts what a server may charge for. Repeats of a lost request are not counted again.
 *
 * @param budget most tokens of all kinds together; undefined: no limit
 * @param used tokens that count towards the budget already
 */
export function createMeter(budget: number | undefined, used = 0): Meter {
  let usage: ServerUsage = { requests: 0, forwardTokens: 0, trainedTokens: 0, sampledTokens: 0 };
  return {
    charge: (kind, tokens) => {
      const total = used + totalTokens(usage);
      if (budget !== undefined && total + tokens > budget)
        throw TinkerError.BUDGET_SPENT({ used: total, budget, tokens });
      usage = { ...usage, [kind]: usage[kind] + tokens };
    },
    countRequest: () => {
      usage = { ...usage, requests: usage.requests + 1 };
    },
    usage: () => usage,
  };
}

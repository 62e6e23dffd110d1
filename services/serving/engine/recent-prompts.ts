/** Token ids of the latest prompts, one per conversation, the latest first. */
export type RecentPrompts = {
  readonly add: (promptIds: readonly number[]) => void;
  readonly latest: () => readonly (readonly number[])[];
};

/** A shorter prompt is read about as fast as it is looked up. */
const LEAST_TOKENS = 256;
/** What a chat template puts behind the last message differs from turn to turn. */
const ENDING_TOKENS = 32;

/** @param most prompts that are remembered */
export function createRecentPrompts(most: number, leastTokens = LEAST_TOKENS): RecentPrompts {
  let prompts: readonly (readonly number[])[] = [];
  return {
    add: (promptIds) => {
      if (promptIds.length < leastTokens) return;
      const others = prompts.filter((other) => !goesOnFrom(promptIds, other));
      prompts = [promptIds, ...others].slice(0, most);
    },
    latest: () => prompts,
  };
}

const goesOnFrom = (promptIds: readonly number[], before: readonly number[]): boolean =>
  before.slice(0, -ENDING_TOKENS).every((id, index) => promptIds[index] === id);

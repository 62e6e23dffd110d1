/** Token ids, and whose cache they are read into: `cacheSalt` of the request. */
export type RecentPrompt = { readonly promptIds: readonly number[]; readonly cacheSalt?: string | undefined };

/** The latest prompts, one per conversation, the latest first. */
export type RecentPrompts = {
  readonly add: (prompt: RecentPrompt) => void;
  readonly latest: () => readonly RecentPrompt[];
};

/** A shorter prompt is read about as fast as it is looked up. */
const LEAST_TOKENS = 256;
/** What a chat template puts behind the last message differs from turn to turn. */
const ENDING_TOKENS = 32;

/** @param most prompts that are remembered */
export function createRecentPrompts(most: number, leastTokens = LEAST_TOKENS): RecentPrompts {
  let prompts: readonly RecentPrompt[] = [];
  return {
    add: ({ promptIds, cacheSalt }) => {
      if (promptIds.length < leastTokens) return;
      const prompt = { promptIds, cacheSalt };
      const others = prompts.filter((other) => !goesOnFrom(prompt, other));
      prompts = [prompt, ...others].slice(0, most);
    },
    latest: () => prompts,
  };
}

const goesOnFrom = ({ promptIds, cacheSalt }: RecentPrompt, before: RecentPrompt): boolean =>
  before.cacheSalt === cacheSalt &&
  before.promptIds.slice(0, -ENDING_TOKENS).every((id, index) => promptIds[index] === id);

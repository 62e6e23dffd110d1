/** Token ids, and the cache salt of the request. */
export type RecentPrompt = { readonly promptIds: readonly number[]; readonly cacheSalt?: string | undefined };

/** The latest prompts, one per conversation, newest first. */
export type RecentPrompts = {
  readonly add: (prompt: RecentPrompt) => void;
  readonly latest: () => readonly RecentPrompt[];
};

/** A shorter prompt is read about as fast as it is found in the cache. */
const LEAST_TOKENS = 256;
/** The end of a prompt, which a chat template may render differently in the next turn. */
const ENDING_TOKENS = 32;

/** @param most limit of prompts */
export function createRecentPrompts(most: number, leastTokens = LEAST_TOKENS): RecentPrompts {
  let prompts: readonly RecentPrompt[] = [];
  return {
    add: ({ promptIds, cacheSalt }) => {
      if (promptIds.length < leastTokens) return;
      const prompt = { promptIds, cacheSalt };
      const others = prompts.filter((other) => !continues(prompt, other));
      prompts = [prompt, ...others].slice(0, most);
    },
    latest: () => prompts,
  };
}

const continues = ({ promptIds, cacheSalt }: RecentPrompt, before: RecentPrompt): boolean =>
  before.cacheSalt === cacheSalt &&
  before.promptIds.slice(0, -ENDING_TOKENS).every((id, index) => promptIds[index] === id);

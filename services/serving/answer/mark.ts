import type { Generated } from '../generation.ts';

/** ClawLoop's own fields in an answer, under `clawloop`. */
export type Mark = {
  /** policy version that generated the answer */
  readonly version: number;
  /** whether the answer's event is durable */
  readonly recorded: boolean;
  /** parts of the request that were left out */
  readonly ignored?: readonly string[] | undefined;
  /** counts of what the policy did not see of the request */
  readonly cut?: Readonly<Record<string, number>>;
};

/** A part of a request that the server leaves out instead of refusing the request. */
export type Omission = {
  readonly kind: 'field' | 'tool' | 'image';
  /** As the answer names it: `client_metadata`, `tools[1]: web_search`. */
  readonly name: string;
};

/** The omissions as an answer and its event list them; empty if there are none. */
export const ignoredOf = (omissions: readonly Omission[]): { readonly ignored?: readonly string[] } =>
  omissions.length === 0 ? {} : { ignored: omissions.map(({ name }) => name) };

type WithCut = Pick<Generated, 'windowCut'>;

/** API names of the counts. */
const cutNames = {
  tools: 'tools',
  internalContext: 'internal_context',
  systemCharacters: 'system_characters',
  wrapperCharacters: 'wrapper_characters',
  turns: 'turns',
  lastTurnMessages: 'last_turn_messages',
  lastTurnCharacters: 'last_turn_characters',
} as const satisfies Partial<Record<keyof NonNullable<WithCut['windowCut']>, string>>;

/** Counts above 0 of what the context window cut; empty if the policy saw the whole request. */
export function cutOf({ windowCut }: WithCut): { readonly cut?: Readonly<Record<string, number>> } {
  if (windowCut === undefined) return {};
  const counts = Object.entries(cutNames).flatMap(([key, name]) => {
    const count = windowCut[key as keyof typeof cutNames] ?? 0;
    return count === 0 ? [] : [[name, count] as const];
  });
  return { cut: Object.fromEntries(counts) };
}

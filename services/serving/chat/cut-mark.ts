import type { Generated } from '../engine/engine.ts';

type Told = Pick<Generated, 'windowCut'>;

/** The words that a client is told each count by. */
const names = {
  tools: 'tools',
  internalContext: 'internal_context',
  systemCharacters: 'system_characters',
  wrapperCharacters: 'wrapper_characters',
  turns: 'turns',
  lastTurnMessages: 'last_turn_messages',
  lastTurnCharacters: 'last_turn_characters',
} as const satisfies Partial<Record<keyof NonNullable<Told['windowCut']>, string>>;

/** What of a request the policy did not see, in the counts of its fact that are not 0; nothing where it saw all. */
export function cutIn({ windowCut }: Told): { readonly cut?: Readonly<Record<string, number>> } {
  if (windowCut === undefined) return {};
  const counts = Object.entries(names).flatMap(([count, name]) => {
    const cut = windowCut[count as keyof typeof names] ?? 0;
    return cut === 0 ? [] : [[name, cut] as const];
  });
  return { cut: Object.fromEntries(counts) };
}

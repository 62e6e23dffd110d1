import type { Disagreement } from '../../shared/events/disagreement.ts';
import { findSession, type Search } from './session.ts';
import { classifyTurn, type RequestView, type TurnType } from './turn-type.ts';

/**
 * Where the content of a request tells something else than its client said. What the client said holds; that
 * they differ is told, since one of the two is wrong. A session that is opened for its reward has a name of
 * its own, and a content that names none says nothing against one.
 */
export function disagreementOf(
  { data, ...search }: Search,
  view: RequestView,
  type: TurnType,
): Disagreement | undefined {
  if (data.tooLarge) return undefined;
  const { session: said, ...unnamed } = data;
  const byContent =
    said === undefined || data.settle === 'reward' ? undefined : findSession({ ...search, data: unnamed });
  const isOther = byContent !== undefined && byContent.session !== said;
  const isTold = view.explicit !== undefined && !view.isOfProgram; // a program's texts tell no type
  const turn = isTold ? classifyTurn({ ...view, explicit: undefined }) : undefined;
  const isOtherType = turn !== undefined && turn.type !== type;
  if (!isOther && !isOtherType) return undefined;
  return { ...(isOther ? { session: byContent.session } : {}), ...(isOtherType ? { turn } : {}) };
}

/** What kinds there are in one, for counting: a session, or a turn that the client said to be of that type. */
export const kindsOf = ({ session, turn }: Disagreement): readonly string[] => [
  ...(session === undefined ? [] : ['session']),
  ...(turn === undefined ? [] : [turn.type === 'side' ? 'said-main' : 'said-side']),
];

import type { Disagreement } from '../../shared/events/disagreement.ts';
import { defined } from '../../shared/lang/defined.ts';
import { findSession, type Search } from './session.ts';
import { classifyTurn, type RequestView, type TurnType } from './turn-type.ts';

/**
 * How the content of a request differs from its client's declaration. The declaration applies; the difference
 * is recorded because one of the two is wrong. A session settled by reward has a generated name, so content
 * that leads elsewhere does not contradict it.
 */
export function disagreementOf(
  { data, ...search }: Search,
  view: RequestView,
  type: TurnType,
): Disagreement | undefined {
  if (data.tooLarge) return undefined;
  const { session: declared, ...undeclared } = data;
  const byContent =
    declared === undefined || data.settle === 'reward'
      ? undefined
      : findSession({ ...search, data: undeclared });
  const isOther = byContent !== undefined && byContent.session !== declared;
  const hasType = view.explicit !== undefined && !view.isProgramReward; // a program's texts say nothing of its type
  const turn = hasType ? classifyTurn({ ...view, explicit: undefined }) : undefined;
  const isOtherType = turn !== undefined && turn.type !== type;
  if (!isOther && !isOtherType) return undefined;
  return {
    ...defined({ session: isOther ? byContent.session : undefined, turn: isOtherType ? turn : undefined }),
  };
}

/** The kinds of a disagreement, for counting: the session, or the turn type that the client declared. */
export const kindsOf = ({ session, turn }: Disagreement): readonly string[] => [
  ...(session === undefined ? [] : ['session']),
  ...(turn === undefined ? [] : [turn.type === 'side' ? 'said-main' : 'said-side']),
];

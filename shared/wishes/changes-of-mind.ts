import type { VerdictRecorded } from '../events/verdict-recorded.ts';
import type { Draft } from '../log/rows.ts';
import { contradict } from './wish-id.ts';

/** `mind/<access key>`: known wishes that a person stated and did not take back. */
type MindRow = Readonly<
  Record<
    string,
    {
      /** good verdicts since it took the place of a wish that it contradicts; absent: it replaced none, or is met */
      readonly changed?: number;
    }
  >
>;

/** Good verdicts after which a changed wish counts as met. */
const MET = 3;

/**
 * Whether a bad verdict only says that the person wants the opposite of what they wanted before. Any version would
 * have got it, so it is no evidence against the one that answered. From three good verdicts on, the new wish is like
 * any other.
 */
export function isChangeOfMind(draft: Draft, { key, score, wishes }: VerdictRecorded['data']): boolean {
  if (key === undefined) return false;
  const table = draft.table<MindRow>('mind');
  const row = encodeURIComponent(key);
  const before = table.get(row) ?? {};
  if (score < 0 ? wishes.length === 0 : Object.values(before).every(({ changed }) => changed === undefined))
    return false;
  const mind = new Map(Object.entries(before));
  if (score < 0)
    for (const wish of wishes) {
      const old = [...mind.keys()].filter((other) => contradict(wish, other) || contradict(other, wish));
      for (const other of old) mind.delete(other);
      if (old.length > 0) mind.set(wish, { changed: 0 });
      else if (!mind.has(wish)) mind.set(wish, {});
    }
  else if (score > 0)
    for (const [wish, { changed }] of mind)
      if (changed !== undefined) mind.set(wish, changed + 1 >= MET ? {} : { changed: changed + 1 });
  table.set(row, Object.fromEntries(mind));
  return score < 0 && wishes.every((wish) => mind.get(wish)?.changed !== undefined);
}

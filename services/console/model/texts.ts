import type { EventLog } from '../../../shared/log/event-log.ts';
import { readTexts, type TurnTexts } from '../../../shared/views/read-texts.ts';
import type { TurnRow } from '../../../shared/views/turn-row.ts';
import { shortened } from '../../../shared/views/turn-texts.ts';

/** Turns whose texts stay in memory: a page that follows a chat asks for the same ones again. */
const MOST = 5_000;

export type ShownTexts = (row: TurnRow) => TurnTexts | Promise<TurnTexts>;

/** The texts of turns, shortened and without secrets. They are read from the log when somebody looks at them. */
export function createShownTexts(log: Pick<EventLog, 'read'>): ShownTexts {
  const known = new Map<string, { readonly of: string; readonly texts: TurnTexts }>();
  return (row) => {
    const of = [row.reactionAt, row.hintsAt, row.inferredAt].join(' ');
    const kept = known.get(row.id);
    if (kept?.of === of) return kept.texts;
    return readTexts(log, row).then((read) => {
      const texts = shownOf(read);
      known.delete(row.id);
      known.set(row.id, { of, texts });
      if (known.size > MOST) known.delete(known.keys().next().value!);
      return texts;
    });
  };
}

const shownOf = ({ asked, answered, reaction, inferred, hints }: TurnTexts): TurnTexts => ({
  asked: shortened(asked),
  answered: shortened(answered),
  reaction: shortened(reaction),
  inferred: inferred === undefined ? undefined : shortened(inferred),
  hints: hints.map(shortened),
});

import { attribute } from '../../services/collector/attribute.ts';
import { laneTables } from '../../services/collector/lane-tables.ts';
import { runFold } from '../../services/collector/testing/run-fold.ts';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { openDraft } from '../../shared/log/rows.ts';
import type { ServingFolder } from '../e2e/serving-process.ts';

/** One request of a client in the log, with its attribution by the collector. */
export type AttributedCall = {
  readonly data: InteractionCompleted['data'];
  readonly session: string | undefined;
  /** The messages of the turn's next state; undefined: none yet. */
  readonly next: readonly ChatMessage[] | undefined;
  /** Why it does not train; undefined: it may train. */
  readonly skipped: string | undefined;
};

/** All requests whose messages contain these words, in the order of the log. */
export async function attributedCalls(
  folder: ServingFolder,
  words: string,
): Promise<readonly AttributedCall[]> {
  const events = await folder.events('conversations');
  const { emitted, rows } = runFold(attribute, events, {});
  return events
    .filter((event) => event.type === 'interaction.completed')
    .filter(({ data }) => JSON.stringify(data.messages).includes(words))
    .map(({ id, subject, data }) => {
      const turn = laneTables(openDraft(rows.get(subject)!), data.key).turns.get(id);
      const about = emitted.filter((event) => 'turnId' in event.data && event.data.turnId === id);
      const completed = about.find((event) => event.type === 'turn.completed');
      const skipped = about.find((event) => event.type === 'turn.skipped');
      return {
        data,
        session: turn?.session,
        next: completed?.data.next,
        skipped: skipped?.data.reason,
      };
    });
}

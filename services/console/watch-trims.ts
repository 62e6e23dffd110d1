import type { TrimmableTopic } from '../../shared/events/log-trimmed.ts';
import { every } from '../../shared/lang/async.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { type TrimmedTopic, trimmedTopics } from '../../shared/retention/kept-window.ts';

type Options = {
  readonly log: Pick<EventLog, 'starts' | 'follow' | 'ends'>;
  readonly signal: AbortSignal;
  readonly onFailure: (error: unknown) => void;
  /** Called with the starts of the trimmable topics at the first look, and after each trim. */
  readonly onStarts: (starts: Readonly<Record<TrimmableTopic, readonly number[]>>) => Promise<void>;
  /** ms between two looks: a trim takes place every few hours */
  readonly lookMs?: number;
};

export type TrimWatch = {
  readonly trimmed: () => readonly TrimmedTopic[];
  readonly done: Promise<void>;
};

/** Looks now and then whether records were trimmed. If the log does not answer, what it said last holds. */
export function watchTrims({ log, signal, onFailure, onStarts, lookMs = 30_000 }: Options): TrimWatch {
  let trimmed: readonly TrimmedTopic[] = [];
  let seen = '';
  const look = async (): Promise<void> => {
    const [conversations, turns] = await Promise.all([log.starts('conversations'), log.starts('turns')]);
    const starts = JSON.stringify({ conversations, turns });
    if (starts === seen) return; // the facts of trims are read again only after another trim
    await onStarts({ conversations, turns });
    trimmed = await trimmedTopics(log);
    seen = starts;
  };
  const first = look().catch(onFailure);
  return { trimmed: () => trimmed, done: first.then(() => every(lookMs, look, signal, onFailure)) };
}

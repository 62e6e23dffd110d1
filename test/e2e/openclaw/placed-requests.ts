import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import type { Disagreement } from '../../../shared/events/disagreement.ts';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import type { InteractionFailed } from '../../../shared/events/interaction-failed.ts';
import type { TurnCompleted } from '../../../shared/events/turn-completed.ts';
import type { TurnSkipped } from '../../../shared/events/turn-skipped.ts';
import type { Served } from './scripted-upstream.ts';
import { tailed } from './tailed.ts';

/** A request that the model answered, with the collector's attribution in the log. */
export type PlacedRequest = Served & {
  readonly interaction: InteractionCompleted['data'];
  readonly traceparent: string | undefined;
  /** undefined: an open turn, whose next state is not known */
  readonly place:
    | {
        readonly session: string | undefined;
        readonly rule: string | undefined;
        /** why it does not train; undefined: it may train */
        readonly reason: string | undefined;
        readonly next: readonly ChatMessage[] | undefined;
        readonly disagreement?: Disagreement | undefined;
      }
    | undefined;
};

/** The answered requests that the log has, in the order in which the model received them. */
export async function placedRequests(
  folder: string,
  served: readonly Served[],
): Promise<readonly PlacedRequest[]> {
  const [interactions, completed, skipped] = await Promise.all([
    tailed<InteractionCompleted>(folder, 'conversations', 'interaction.completed'),
    tailed<TurnCompleted>(folder, 'turns', 'turn.completed'),
    tailed<TurnSkipped>(folder, 'turns', 'turn.skipped'),
  ]);
  const places = new Map<string, PlacedRequest['place']>();
  for (const { data } of completed)
    places.set(data.turnId, {
      session: data.session,
      rule: data.rule,
      next: data.next,
      reason: undefined,
      disagreement: data.disagreement,
    });
  for (const { data } of skipped)
    places.set(data.turnId, {
      session: data.session,
      rule: data.rule,
      next: undefined,
      reason: data.reason,
      disagreement: data.disagreement,
    });
  return interactions
    .map(({ id, traceparent, data }): PlacedRequest => {
      const one = served.find(({ n }) => n === data.tokens?.promptIds[0]);
      if (one === undefined) throw new Error(`the model never saw ${id}`);
      return { ...one, interaction: data, traceparent, place: places.get(id) };
    })
    .sort((a, b) => a.n - b.n);
}

/**
 * The answered requests that the log has, or will have. OpenClaw breaks off a recap when it stops or when its session
 * ends. If no token of it has arrived by then, the log has a failure in place of the answer.
 */
export async function recordedRequests(
  folder: string,
  served: readonly Served[],
  placed: readonly PlacedRequest[],
): Promise<readonly Served[]> {
  const answered = served.filter(({ outcome }) => outcome === 'answered');
  const inLog = new Set(placed.map(({ n }) => n));
  const absent = answered.filter(({ n }) => !inLog.has(n));
  if (absent.length === 0 || absent.some(({ kind }) => kind !== 'recap')) return answered;
  const failures = await tailed<InteractionFailed>(folder, 'conversations', 'interaction.failed');
  const left = failures.filter(({ data }) => data.code === 'client-disconnected');
  return absent.length > left.length ? answered : answered.filter(({ n }) => inLog.has(n));
}
